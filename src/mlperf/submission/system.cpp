#include "mlperf/submission/system.h"

#include "base/dump_json.h"
#include "base/text.h"
#include "mlperf/submission/runs.h"
#include "record/dataset_hash.h"
#include "record/point_option.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace deepgap {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view option_prefix = "mlperf_";

void add_host(const Record& record, Json& json) {
  json["host_processor_model_name"] = mlperf_known(record, "cpu.model");
  json["host_processors_per_node"] = mlperf_known(record, "cpu.sockets");
  json["host_processor_core_count"] = mlperf_known(record, "cpu.cores");
  json["host_processor_frequency"] = mlperf_known(record, "cpu.frequency_max_khz");
  json["host_processor_caches"] = fmt::format("L1d {}, L2 {}, L3 {}", mlperf_size(record, "cpu.cache_l1d_bytes"),
                                              mlperf_size(record, "cpu.cache_l2_bytes"), mlperf_size(record, "cpu.cache_l3_bytes"));
  json["host_memory_capacity"] = mlperf_size(record, "memory.total_bytes");
  for (const char* field : {"host_memory_configuration", "host_processor_interconnect", "host_storage_capacity", "host_storage_type",
                            "host_networking", "host_networking_topology", "host_network_card_count"}) {
    json[field] = mlperf_unknown;
  }
}

void add_accelerators(const Record& record, Json& json) {
  const bool gpu = mlperf_on_gpu(record);
  json["accelerators_per_node"] = gpu ? std::to_string(record.point.placement.devices.size()) : "0";
  json["accelerator_model_name"] = gpu ? mlperf_known(record, mlperf_gpu_key(record, "name")) : "none";
  json["accelerator_memory_capacity"] = gpu ? mlperf_size(record, mlperf_gpu_key(record, "memory_bytes")) : "none";
  for (const char* field : {"accelerator_frequency", "accelerator_host_interconnect", "accelerator_interconnect",
                            "accelerator_interconnect_topology", "accelerator_memory_configuration", "accelerator_on-chip_memories"}) {
    json[field] = gpu ? mlperf_unknown : "none";
  }
}

}  // namespace

std::string mlperf_known(const Record& record, const std::string& key) {
  const std::string text = mlperf_fact(record, key);
  return text.empty() || text.starts_with("not available") ? mlperf_unknown : text;
}

std::string mlperf_size(const Record& record, const std::string& key) {
  const auto found = record.environment.find(key);
  if (found == record.environment.end() || !std::holds_alternative<int64_t>(found->second)) return mlperf_unknown;
  return format_bytes(static_cast<double>(std::get<int64_t>(found->second)));
}

bool mlperf_on_gpu(const Record& record) { return record.point.placement.devices.front().kind == "cuda"; }

std::string mlperf_gpu_key(const Record& record, const char* what) {
  return fmt::format("gpu.cuda{}.{}", record.point.placement.devices.front().index, what);
}

std::string mlperf_benchmark(const Record& record) { return option_of(record.point, "mlperf_model", record.point.model); }

std::string mlperf_system_name(const Record& record) {
  const std::string device =
      mlperf_on_gpu(record) ? mlperf_known(record, mlperf_gpu_key(record, "name")) : mlperf_known(record, "cpu.model");
  std::string name = fmt::format("{}-{}-{}", device, record.point.backend, name_of(record.point.precision));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
  return name;
}

std::string mlperf_system_json(const Record& record, const std::string& submitter, const std::string& system_type) {
  Json json;
  json["division"] = "open";
  json["submitter"] = submitter;
  json["status"] = "rdi";  // research, development or internal: the only one that needs no promise of availability
  json["system_type"] = system_type;
  json["system_type_detail"] = mlperf_unknown;
  json["system_name"] = mlperf_system_name(record);
  json["number_of_nodes"] = "1";
  add_host(record, json);
  add_accelerators(record, json);
  json["cooling"] = mlperf_unknown;
  json["hw_notes"] = "";
  json["framework"] =
      fmt::format("deepgap {}, {} {}", mlperf_known(record, "deepgap.version"), record.point.backend, record.backend_version);
  json["operating_system"] = fmt::format("{}, Linux {}", mlperf_known(record, "os.name"), mlperf_known(record, "os.kernel"));
  json["other_software_stack"] = fmt::format("glibc {}", mlperf_known(record, "library.glibc"));
  json["sw_notes"] = "";
  return dump_indented(json);
}

std::string mlperf_measurements_json(const Record& record) {
  Json json;
  json["input_data_types"] = "fp32";
  json["retraining"] = "none";
  json["starting_weights_filename"] = record.point.weights == "seeded" ? "seeded: made up, no trained weights" : record.point.weights;
  json["weight_data_types"] = name_of(record.point.precision);
  json["weight_transformations"] = record.point.precision == Precision::int8 ? "quantization after training" : "none";
  return dump_indented(json);
}

std::string mlperf_user_conf(const Record& record, const std::string& scenario) {
  std::string text = "# What was set beside the round's rules.\n";
  for (const auto& [name, value] : record.point.options) {
    const std::string key = name == "rate" ? "target_qps" : name.starts_with(option_prefix) ? name.substr(option_prefix.size()) : "";
    const bool own = key.empty() || key == "mode" || key == "test" || key == "model" || key == "samples" || key == "scale";
    if (!own && !key.ends_with("_rng_seed")) text += fmt::format("{}.{}.{} = {}\n", mlperf_benchmark(record), scenario, key, value);
  }
  return text;
}

std::string mlperf_scenario_readme(const Record& record, const std::string& scenario) {
  std::string text = fmt::format("# {} {}\n\nMeasured by deepgap; record {}.\n\n", mlperf_benchmark(record), scenario, record.record_id);
  text +=
      fmt::format("    deepgap run --model {} --weights {} --dataset {} --backend {} --precision {} --batch {} --threads {} --scenario {}",
                  record.point.model, record.point.weights, record.point.dataset, record.point.backend, name_of(record.point.precision),
                  record.point.batch, record.point.threads, record.point.scenario);
  for (const auto& [name, value] : record.point.options) {
    if (name != dataset_hash_option) text += fmt::format(" --axis {}={}", name, value);
  }
  return text + fmt::format("\n\nData: {}.\n", record.dataset_description);
}

}  // namespace deepgap
