#include "telemetry/nvml_devices.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace deepgap {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string text_of(const std::function<int(NvmlDevice, char*, unsigned)>& function, NvmlDevice device) {
  std::array<char, 128> text{};
  const int result = nvml_call(function, device, text.data(), static_cast<unsigned>(text.size() - 1));
  return result == nvml_ok ? text.data() : "";
}

// All that the driver lets us have, in NVML's order, or why there is none.
std::vector<NvmlDevice> all_devices(const NvmlApi& api, std::string& reason) {
  unsigned count = 0;
  const int counted = nvml_call(api.device_count, &count);
  if (counted != nvml_ok) reason = nvml_words(counted);
  if (counted == nvml_ok && count == 0) reason = "the driver finds no GPU";
  std::vector<NvmlDevice> devices;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    const int result = nvml_call(api.device_by_index, i, &device);
    if (result == nvml_ok) {
      devices.push_back(device);
    } else {
      reason = fmt::format("GPU {}: {}", i, nvml_words(result));
    }
  }
  if (!devices.empty()) reason.clear();
  return devices;
}

// The device that one word of CUDA_VISIBLE_DEVICES names, or nullptr.
NvmlDevice named_device(const NvmlApi& api, const std::vector<NvmlDevice>& devices, const std::string& word) {
  if (const auto index = parse_int(word)) {
    return *index >= 0 && *index < static_cast<int64_t>(devices.size()) ? devices[static_cast<size_t>(*index)] : nullptr;
  }
  if (word.starts_with("MIG-")) {
    NvmlDevice device = nullptr;
    return nvml_call(api.device_by_uuid, word.c_str(), &device) == nvml_ok ? device : nullptr;
  }
  NvmlDevice found = nullptr;
  for (NvmlDevice device : devices) {
    if (!word.starts_with("GPU-") || !text_of(api.uuid, device).starts_with(word)) continue;
    if (found != nullptr) return nullptr;  // not unique
    found = device;
  }
  return found;
}

bool all_alike(const NvmlApi& api, const std::vector<NvmlDevice>& devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [&](NvmlDevice device) { return text_of(api.name, device) == text_of(api.name, devices.front()); });
}

}  // namespace

CudaEnvironment cuda_environment() { return {variable("CUDA_VISIBLE_DEVICES"), variable("CUDA_DEVICE_ORDER")}; }

VisibleGpus visible_gpus(const NvmlApi& api, const CudaEnvironment& environment) {
  VisibleGpus visible;
  const std::vector<NvmlDevice> devices = all_devices(api, visible.reason);
  if (devices.empty()) return visible;
  std::vector<NvmlDevice> chosen = devices;
  if (environment.visible_devices) {
    chosen.clear();
    for (const std::string& word : split(*environment.visible_devices, ',')) {
      NvmlDevice device = named_device(api, devices, trim(word));
      if (device == nullptr) break;
      chosen.push_back(device);
    }
    if (chosen.empty()) visible.reason = fmt::format("CUDA_VISIBLE_DEVICES='{}' leaves no GPU", *environment.visible_devices);
  }
  for (NvmlDevice device : chosen) visible.gpus.push_back({static_cast<int>(visible.gpus.size()), device});
  if (environment.device_order.value_or("") != "PCI_BUS_ID" && !all_alike(api, devices)) {
    visible.note = "the GPUs differ and CUDA counts the fastest first: set CUDA_DEVICE_ORDER=PCI_BUS_ID, or cuda:N may be another GPU";
  }
  return visible;
}

}  // namespace deepgap
