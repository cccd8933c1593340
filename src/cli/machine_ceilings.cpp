#include "cli/machine_ceilings.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/own_file.h"
#include "ceilings/gpu_ceilings.h"
#include "cli/child.h"
#include "cli/gpus_child.h"
#include "record/fact_values.h"
#include "record/record_json.h"
#include "telemetry/environment.h"
#include "telemetry/gpu_state.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* child_command = "__ceilings";
constexpr const char* gpu_child_command = "__gpu_ceilings";
constexpr std::chrono::seconds gpu_timeout{120};  // it takes some seconds
constexpr int version = 2, gpu_version = 3;       // version of what is measured and how; increased when that changes

// Returns what the ceilings depend on.
json identity(const CeilingsOf& whose, const Facts& environment) {
  Facts facts;
  for (const char* key :
       {"host.name", "cpu.model", "cpu.microcode", "cpu.flags", "cpu.sockets", "cpu.cores", "cpu.threads_per_core", "cpu.cache_l3_bytes",
        "cpu.cache_l3_count", "cpu.turbo", "cpu.governor", "cgroup.cpu_quota", "memory.total_bytes", "os.kernel"}) {
    if (const auto found = environment.find(key); found != environment.end()) facts.insert(*found);
  }
  return {{"version", version},
          {"device", device_name(whose.device)},
          {"threads", whose.threads},
          {"cpus", allowed_cpus()},
          {"machine", facts_to_json(facts)}};
}

// Returns the same for a GPU: its ceilings depend on its clocks, limits and driver. nullopt: the GPU is not known, so nothing can be kept.
std::optional<json> gpu_identity(const DeviceId& device) {
  const GpuInventory inventory = ask_for_gpus();
  const auto index = static_cast<size_t>(device.index);
  if (index >= inventory.gpus.size()) return std::nullopt;
  const Facts& gpu = inventory.gpus[index];
  Facts facts;
  for (const char* key : {"name", "uuid", "memory_bytes", "power_limit_w", "clock_sm_max_hz", "clock_memory_max_hz", "ecc", "mig"})
    if (const auto found = gpu.find(key); found != gpu.end()) facts.insert(*found);
  for (const auto& [key, fact] : inventory.driver) facts["driver." + key] = fact;
  return json{{"version", gpu_version}, {"gpu", facts_to_json(facts)}};
}

std::optional<Ceilings> kept(const std::string& file, const json& who) {
  if (!is_own_file(file)) return std::nullopt;
  try {
    const json content = json::parse(read_text(file));
    if (content.at("of") != who) return std::nullopt;
    return ceilings_from_json(content.at("ceilings"));
  } catch (const std::exception&) {  // not there, or damaged: measured again
    return std::nullopt;
  }
}

CeilingsRequest request_for(int threads, const Facts& environment) {
  const std::vector<int> allowed = allowed_cpus();
  CeilingsRequest request;
  for (int i = 0; i < threads; ++i) request.cpus.push_back(allowed[static_cast<size_t>(i) % allowed.size()]);
  request.last_cache_bytes = last_cache_bytes(environment);
  const int64_t available = fact_or<int64_t>(environment, "memory.available_bytes", int64_t{1} << 30);
  request.memory_bytes = std::min(available, fact_or<int64_t>(environment, "cgroup.memory_limit_bytes", available)) / 4;
  return request;
}

const bool registered = add_child_command(child_command, [](const json& request, FrameWriter& /*before*/) {
  return ceilings_to_json(measure_ceilings(ceilings_request_from_json(request)));
});

const bool gpu_registered = add_child_command(gpu_child_command, [](const json& request, FrameWriter& /*before*/) {
  const int device = request.at("device");
  const GpuStateReader reader(load_nvml, cuda_environment(), device);
  return ceilings_to_json(measure_gpu_ceilings(device, [&reader] {
    const GpuReading now = reader.read();
    return GpuState{now.sm_hz, now.memory_hz, now.power_w, now.throttle_reasons};
  }));
});

// Out of the cache, else by `call`; kept where nothing disturbed them. Without `who` nothing is kept.
ShownCeilings found_or_measured(const std::optional<json>& who, const std::string& cache_dir, bool fresh, const ChildCall& call) {
  ShownCeilings result;
  std::string file;
  if (who && !cache_dir.empty()) file = fmt::format("{}/ceilings/{}.json", cache_dir, content_hash(who->dump()));
  if (!fresh && !file.empty()) {
    if (const auto found = kept(file, *who)) {
      result.ceilings = *found;
      return result;
    }
  }
  const json answer = call_child(call);
  result.ceilings = ceilings_from_json(answer);
  result.measured = true;
  if (!file.empty() && is_undisturbed(result.ceilings)) {
    make_directories(std::filesystem::path(file).parent_path().string());
    replace_file(file, json{{"of", *who}, {"ceilings", answer}}.dump(2));
  }
  return result;
}

ShownCeilings gpu_ceilings(const DeviceId& device, const std::string& cache_dir, bool fresh) {
  try {
    return found_or_measured(
        gpu_identity(device), cache_dir, fresh,
        {gpu_child_command, fmt::format("measuring the peaks of {}", device_name(device)), {{"device", device.index}}, {}, gpu_timeout});
  } catch (const Error& error) {
    if (fresh) throw;
    return {{}, false, error.what()};
  }
}

}  // namespace

int64_t last_cache_bytes(const Facts& environment) {
  for (const char* level : {"cpu.cache_l3", "cpu.cache_l2"}) {
    const int64_t bytes =
        fact_or<int64_t>(environment, fmt::format("{}_bytes", level), 0) * fact_or<int64_t>(environment, fmt::format("{}_count", level), 0);
    if (bytes > 0) return bytes;
  }
  return 0;
}

ShownCeilings machine_ceilings(const CeilingsOf& whose, const Facts& environment, const std::string& cache_dir, bool fresh) {
  if (whose.device.kind == "cuda") return gpu_ceilings(whose.device, cache_dir, fresh);
  if (whose.device.kind != "cpu") {
    const std::string name = device_name(whose.device);
    if (fresh) throw Error(ErrorKind::usage, fmt::format("--fresh-ceilings works for CPUs and CUDA devices, not for {}", name));
    return {{}, false, fmt::format("the peaks of {} are not measured, and the CPU's do not apply to it", name)};
  }
  return found_or_measured(identity(whose, environment), cache_dir, fresh,
                           {child_command, "measuring the peaks", ceilings_request_to_json(request_for(whose.threads, environment))});
}

}  // namespace deepgap
