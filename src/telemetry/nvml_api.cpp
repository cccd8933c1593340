#include "telemetry/nvml_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr const char* library_name = "libnvidia-ml.so.1";

// The loader's message begins with the file's name twice over; what comes after the last colon is the cause.
std::string cause_of(const char* message) {
  const std::string text = message == nullptr ? "" : message;
  if (text.find("cannot open shared object file: No such file") != std::string::npos) return "is not here";
  return "cannot be opened: " + text;
}

template <typename... Arguments>
void find(void* library, const char* name, std::function<int(Arguments...)>& entry) {
  if (void* symbol = ::dlsym(library, name)) entry = reinterpret_cast<int (*)(Arguments...)>(symbol);
}

void find_device_functions(void* library, NvmlApi& api) {
  find(library, "nvmlDeviceGetName", api.name);
  find(library, "nvmlDeviceGetUUID", api.uuid);
  find(library, "nvmlDeviceGetPciInfo_v3", api.pci);
  find(library, "nvmlDeviceGetCudaComputeCapability", api.compute_capability);
  find(library, "nvmlDeviceGetNumGpuCores", api.cores);
  find(library, "nvmlDeviceGetPersistenceMode", api.persistence);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", api.power_limit);
  find(library, "nvmlDeviceGetPowerManagementDefaultLimit", api.default_power_limit);
  find(library, "nvmlDeviceGetPowerUsage", api.power);
  find(library, "nvmlDeviceGetPerformanceState", api.performance_state);
  find(library, "nvmlDeviceGetCurrPcieLinkGeneration", api.pcie_generation);
  find(library, "nvmlDeviceGetCurrPcieLinkWidth", api.pcie_width);
  find(library, "nvmlDeviceGetMaxPcieLinkGeneration", api.pcie_generation_max);
  find(library, "nvmlDeviceGetMaxPcieLinkWidth", api.pcie_width_max);
  find(library, "nvmlDeviceGetEccMode", api.ecc_mode);
  find(library, "nvmlDeviceGetMigMode", api.mig_mode);
  find(library, "nvmlDeviceGetTotalEnergyConsumption", api.energy);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", api.throttle_reasons);
  // The name before driver 535.
  if (!api.throttle_reasons) find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", api.throttle_reasons);
  find(library, "nvmlDeviceGetTemperature", api.temperature);
  find(library, "nvmlDeviceGetClockInfo", api.clock);
  find(library, "nvmlDeviceGetMaxClockInfo", api.clock_max);
  find(library, "nvmlDeviceGetPcieThroughput", api.pcie_throughput);
  find(library, "nvmlDeviceGetUtilizationRates", api.utilization);
  find(library, "nvmlDeviceGetMemoryInfo", api.memory);
  find(library, "nvmlDeviceGetViolationStatus", api.violation);
  find(library, "nvmlDeviceGetTotalEccErrors", api.ecc_errors);
  find(library, "nvmlDeviceGetComputeRunningProcesses_v3", api.processes);
  find(library, "nvmlDeviceGetFieldValues", api.fields);
  find(library, "nvmlDeviceGetNvLinkState", api.link_state);
  find(library, "nvmlDeviceGetNvLinkVersion", api.link_version);
  find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", api.link_remote);
  find(library, "nvmlDeviceGetTopologyCommonAncestor", api.common_ancestor);
  find(library, "nvmlDeviceGetP2PStatus", api.peer_status);
}

}  // namespace

std::string nvml_words(int result) {
  switch (result) {
    case nvml_not_supported:
      return "the device does not offer it";
    case nvml_no_permission:
      return "the driver denies it to this user (NVML_ERROR_NO_PERMISSION)";
    case nvml_not_found:
      return "the driver does not find it";
    case nvml_driver_not_loaded:
      return "the NVIDIA driver is not loaded";
    case nvml_function_not_found:
      return "the driver's library does not have this function; a newer driver may";
    case nvml_gpu_is_lost:
      return "the GPU is lost: it has fallen off the bus or does not answer (NVML_ERROR_GPU_IS_LOST)";
    case nvml_version_mismatch:
      return "the driver in the kernel and its library are of different versions; reload the driver or restart the machine";
    default:
      return fmt::format("NVML error {}", result);
  }
}

NvmlLoad load_nvml() {
  NvmlLoad load;
  void* library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    load.reason = fmt::format("{} {}", library_name, cause_of(::dlerror()));
    return load;
  }
  NvmlApi& api = load.api;
  find(library, "nvmlInit_v2", api.init);
  find(library, "nvmlShutdown", api.shutdown);
  find(library, "nvmlSystemGetDriverVersion", api.driver_version);
  find(library, "nvmlSystemGetNVMLVersion", api.nvml_version);
  find(library, "nvmlSystemGetCudaDriverVersion_v2", api.cuda_version);
  find(library, "nvmlDeviceGetCount_v2", api.device_count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", api.device_by_index);
  find(library, "nvmlDeviceGetHandleByUUID", api.device_by_uuid);
  find_device_functions(library, api);
  return load;
}

}  // namespace deepgap
