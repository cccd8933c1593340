#include "telemetry/gpus.h"

#include "telemetry/gpu_path.h"
#include "telemetry/nvml_devices.h"
#include "telemetry/system_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

using Level = Advice::Level;

void add_paths(const NvmlApi& api, const std::vector<VisibleGpu>& gpus, std::vector<Facts>& facts) {
  for (size_t i = 0; i < gpus.size(); ++i) {
    for (size_t j = 0; j < gpus.size(); ++j) {
      if (i != j) add_path(api, gpus[i].device, gpus[j].device, gpus[j].ordinal, "", facts[i]);
    }
  }
}

template <typename T>
const T* known(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? nullptr : std::get_if<T>(&found->second);
}

void judge_settings(const std::string& gpu, const Facts& facts, std::vector<Advice>& advice) {
  const bool* persistent = known<bool>(facts, "persistence_mode");
  if (persistent != nullptr && !*persistent) {
    advice.push_back({Level::note, gpu + " persistence",
                      "persistence mode is off: the driver may reload between two runs, which costs seconds",
                      "sudo nvidia-smi -pm 1, or run nvidia-persistenced"});
  }
  const bool* mig = known<bool>(facts, "mig");
  if (mig != nullptr && *mig) {
    advice.push_back({Level::warning, gpu + " MIG", "the GPU is divided (MIG): power, energy and clocks are of the whole card",
                      "measure with MIG off, or compare only within one instance"});
  }
  const bool* ecc = known<bool>(facts, "ecc");
  if (ecc != nullptr && !*ecc) {
    advice.push_back({Level::note, gpu + " ECC", "ECC is off: memory is a little larger and, on some GPUs, faster than as delivered",
                      "compare only with runs that had it off too"});
  }
  const double *limit = known<double>(facts, "power_limit_w"), *usual = known<double>(facts, "power_limit_default_w");
  if (limit != nullptr && usual != nullptr && *limit < *usual * 0.999) {
    advice.push_back({Level::warning, gpu + " power cap", fmt::format("capped at {:.0f} W; {:.0f} W is its own limit", *limit, *usual),
                      "sudo nvidia-smi -pl " + fmt::format("{:.0f}", *usual)});
  }
}

void judge_state(const std::string& gpu, const Facts& facts, std::vector<Advice>& advice) {
  const double* processes = known<double>(facts, "processes");
  const double* busy = known<double>(facts, "utilization");
  if (processes != nullptr && *processes > 0) {
    advice.push_back({Level::warning, gpu + " other processes",
                      fmt::format("{:.0f} process{} on it{}", *processes, *processes > 1 ? "es are" : " is",
                                  busy == nullptr ? "" : fmt::format("; it is busy for {:.0f} % of the time", *busy * 100)),
                      "nvidia-smi shows them; stop them or wait"});
  } else if (busy != nullptr && *busy >= 0.02) {
    advice.push_back({Level::warning, gpu + " other processes",
                      fmt::format("something keeps it busy for {:.0f} % of the time", *busy * 100),
                      "it may belong to another container; wait, or use another GPU"});
  }
  const auto* reasons = known<std::string>(facts, "throttle_reasons");
  const bool harmless = reasons == nullptr || *reasons == "none" || *reasons == "gpu_idle" || reasons->starts_with("not available");
  if (!harmless) {
    advice.push_back({Level::note, gpu + " clocks", "held back now by: " + *reasons,
                      "see nvidia-smi -q -d PERFORMANCE; cool the machine, or undo settings"});
  }
  const double* errors = known<double>(facts, "ecc_uncorrected");
  if (errors != nullptr && *errors > 0) {
    advice.push_back({Level::warning, gpu + " memory errors",
                      fmt::format("{:.0f} uncorrected ECC errors since the driver was loaded", *errors),
                      "have the GPU checked (nvidia-smi -q -d ECC)"});
  }
}

}  // namespace

GpuInventory inspect_gpus(const NvmlLoader& load, const std::string& root) {
  GpuInventory inventory;
  const NvmlLoad library = load();
  inventory.reason = library.reason;
  if (!library.reason.empty()) return inventory;
  const NvmlApi& api = library.api;
  const int started = nvml_call(api.init);
  if (started != nvml_ok) {
    inventory.reason = nvml_words(started);
    return inventory;
  }
  inventory.driver = driver_facts(api);
  const VisibleGpus visible = visible_gpus(api, cuda_environment());
  inventory.reason = visible.reason;
  inventory.note = visible.note;
  for (const VisibleGpu& gpu : visible.gpus) {
    Facts facts = gpu_facts(api, gpu.device, root);
    facts.merge(gpu_state(api, gpu.device));
    inventory.gpus.push_back(std::move(facts));
  }
  add_paths(api, visible.gpus, inventory.gpus);
  return inventory;
}

std::vector<Advice> examine_gpus(const GpuInventory& inventory) {
  if (inventory.gpus.empty()) return {{Level::ok, "GPU", "no GPU: " + inventory.reason, ""}};
  std::vector<Advice> advice;
  if (!inventory.note.empty()) advice.push_back({Level::warning, "GPU order", inventory.note, "export CUDA_DEVICE_ORDER=PCI_BUS_ID"});
  for (size_t i = 0; i < inventory.gpus.size(); ++i) {
    const std::string gpu = fmt::format("cuda:{}", i);
    const size_t before = advice.size();
    judge_settings(gpu, inventory.gpus[i], advice);
    judge_state(gpu, inventory.gpus[i], advice);
    if (advice.size() > before) continue;
    const auto* name = known<std::string>(inventory.gpus[i], "name");
    advice.push_back({Level::ok, gpu, fmt::format("{}: idle, not capped, no errors", name == nullptr ? "GPU" : *name), ""});
  }
  std::stable_sort(advice.begin(), advice.end(), [](const Advice& a, const Advice& b) { return a.level > b.level; });
  return advice;
}

}  // namespace deepgap
