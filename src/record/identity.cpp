#include "record/identity.h"

#include "base/text.h"
#include "record/dataset_hash.h"
#include "record/fact_values.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace deepgap {
namespace {

std::string known_text(const Facts& facts, const std::string& key) {
  const auto* text = fact_as<std::string>(facts, key);
  return text == nullptr || text->starts_with("not available") ? std::string() : *text;
}

// In a virtual machine a processor often says its brand alone, "Intel(R) Xeon(R) Processor": then family and model say more.
std::string cpu_model(const Facts& environment) {
  std::string name = known_text(environment, "cpu.model");
  if (name.empty() || name.find_first_of("0123456789") != std::string::npos) return name;
  const auto family = fact_as<int64_t>(environment, "cpu.family"), model = fact_as<int64_t>(environment, "cpu.model_number");
  if (family && model) name += fmt::format(" (family {} model {})", *family, *model);
  return name;
}

// Returns how many CPUs a list such as "0,1,2" has; 0 if the list is empty.
size_t cpus_in(const std::string& list) { return list.empty() ? 0 : static_cast<size_t>(std::count(list.begin(), list.end(), ',')) + 1; }

// Returns what a control group (a container) leaves of the machine, if that is less: ", CPU quota 2.5, memory limit 8 GiB".
std::string limits_of_group(const Facts& environment, size_t cpus) {
  std::string limits;
  if (const auto quota = fact_number(environment, "cgroup.cpu_quota"); quota && *quota < static_cast<double>(cpus))
    limits += fmt::format(", CPU quota {:.4g}", *quota);
  const auto most = fact_number(environment, "cgroup.memory_limit_bytes"), total = fact_number(environment, "memory.total_bytes");
  if (most && (!total || *most < *total)) limits += fmt::format(", memory limit {:.6g} GiB", *most / (int64_t{1} << 30));
  return limits;
}

// The CPUs that the worker was allowed, not those it was pinned to: how they are used is a setting, and in the Point.
std::string cpu_with_its_share(const Facts& environment) {
  const std::string model = cpu_model(environment);
  const size_t cpus = cpus_in(known_text(environment, "cpus.allowed"));
  if (model.empty() || cpus == 0) return {};
  return fmt::format("{}, {} {}{}", model, cpus, cpus == 1 ? "CPU" : "CPUs", limits_of_group(environment, cpus));
}

std::string name_of_device(const DeviceId& device, const Facts& environment) {
  if (is_remote(device)) return device_name(device);
  if (!device.host.empty()) return {};  // on a machine that this environment does not describe
  if (device.kind == "cpu") return cpu_with_its_share(environment);
  return known_text(environment, fmt::format("gpu.{}{}.name", device.kind, device.index));
}

// Returns an empty name unless every device is known: half a name would be another device's. With several processes, older Stores have what
// the first one saw, which was its own device alone.
std::string device_of(const Placement& placement, const Facts& environment) {
  std::vector<std::string> names;
  for (const DeviceId& device : placement.devices) {
    const std::string name = name_of_device(device, environment);
    if (name.empty() && placement.processes > 1 && !names.empty()) continue;
    if (name.empty()) return {};
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return join(names, " + ");
}

std::string machine_of(const Facts& environment) {
  std::string machine = cpu_model(environment);
  if (machine.empty()) return {};
  const auto sockets = fact_as<int64_t>(environment, "cpu.sockets"), cores = fact_as<int64_t>(environment, "cpu.cores");
  if (sockets && *sockets > 1) machine = fmt::format("{} x {}", *sockets, machine);
  if (cores) machine += fmt::format(", {} {}", *cores, *cores == 1 ? "core" : "cores");
  if (const auto bytes = fact_as<int64_t>(environment, "memory.total_bytes"))
    machine += fmt::format(", {:.0f} GiB", static_cast<double>(*bytes) / (int64_t{1} << 30));
  return machine;
}

}  // namespace

ModelKey model_key(const Point& point) {
  return {without_paths(point).model,
          point.model_hash,
          point.weights,
          option_of(point, "seed"),
          option_of(point, "shape"),
          option_of(point, "reference"),
          "",
          ""};
}

DatasetKey dataset_key(const Point& point) {
  const Point known = without_paths(point);
  std::string given = option_of(point, "input");  // numbers that inputs hold in every sample
  for (const char* of_prompts : {"prompt_tokens", "output_tokens", "shared_prefix_tokens", "prompt_reuse"})
    if (const std::string value = option_of(point, of_prompts); !value.empty()) given += fmt::format(" {}={}", of_prompts, value);
  return {given.empty() ? known.dataset : fmt::format("{} with {}", known.dataset, given),
          option_of(point, dataset_hash_option),
          option_of(point, "seed"),
          option_of(point, "samples"),
          option_of(known, "labels"),
          option_of(point, "label_offset")};
}

ReferenceSubject reference_subject(const Point& point) {
  ReferenceSubject subject{model_key(point), dataset_key(point), point.backend, point.precision == Precision::int8, {}, point.task};
  for (const auto& [name, value] : point.options) {
    if (name.starts_with("quantize.")) subject.quantize.emplace(name, value);
  }
  return subject;
}

WorkloadKey workload_key(const Point& point) {
  const Point known = without_paths(point);
  return {known.model, point.task, point.model_hash, point.weights, known.dataset, option_of(point, dataset_hash_option)};
}

Identity identity_of(const Point& point, const Facts& environment) {
  return {model_key(point), dataset_key(point), device_of(point.placement, environment), machine_of(environment),
          known_text(environment, "host.name")};
}

Identity identity_of(const Record& record) { return identity_of(record.point, record.environment); }

std::string node_of(const Record& record) {
  if (std::string name = known_text(record.facts, fleet_node_fact); !name.empty()) return name;
  if (std::string name = known_text(record.environment, "host.name"); !name.empty()) return name;
  return known_text(record.facts, host_alias_fact);
}

std::string short_device_name(std::string device) {
  for (const std::string_view word : {"(R)", "(TM)", "(r)", "(tm)", "NVIDIA ", "Intel ", "AMD ", " Processor", " CPU @"}) {
    for (size_t at = device.find(word); at != std::string::npos; at = device.find(word, at)) device.erase(at, word.size());
  }
  return device;
}

}  // namespace deepgap
