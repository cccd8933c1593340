#include "mlperf/endpoints/system.h"

#include "mlperf/submission/system.h"
#include "record/fact_values.h"
#include "record/record_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using Json = nlohmann::ordered_json;

void add_count(Json& json, const char* field, const Record& record, const char* key) {
  if (const int64_t* count = fact_as<int64_t>(record.environment, key)) json[field] = *count;
}

Json accelerators(const Record& record) {
  if (!mlperf_on_gpu(record)) return Json::array();
  Json gpu;
  gpu["accelerator_model_name"] = mlperf_known(record, mlperf_gpu_key(record, "name"));
  gpu["accelerators_per_node"] = record.point.placement.devices.size();
  gpu["accelerator_memory_capacity"] = mlperf_size(record, mlperf_gpu_key(record, "memory_bytes"));
  return Json::array({gpu});
}

// "2x NVIDIA H200", or the processor where there is no GPU.
std::string size_of(const Record& record) {
  if (mlperf_on_gpu(record))
    return fmt::format("{}x {}", record.point.placement.devices.size(), mlperf_known(record, mlperf_gpu_key(record, "name")));
  return mlperf_known(record, "cpu.model");
}

}  // namespace

Json endpoints_node(const Record& record) {
  Json node = Json::object();
  node["system_node_ensemble_id"] = 0;
  if (is_remote(record.point.placement)) return node;
  node["number_of_nodes"] = 1;
  node["host_processor_model_name"] = mlperf_known(record, "cpu.model");
  add_count(node, "host_processors_per_node", record, "cpu.sockets");
  add_count(node, "host_processor_core_count", record, "cpu.cores");
  add_count(node, "host_processor_vcpu_count", record, "cpu.threads");
  node["host_memory_capacity"] = mlperf_size(record, "memory.total_bytes");
  node["host_memory_configuration"] = mlperf_unknown;
  node["accelerator_info"] = accelerators(record);
  node["host_network_card_count"] = mlperf_unknown;
  node["inference_backend"] = fmt::format("{} {}", record.point.backend, record.backend_version);
  node["driver"] = mlperf_on_gpu(record) ? mlperf_known(record, "gpu.driver") : "none";
  node["operating_system"] = fmt::format("{}, Linux {}", mlperf_known(record, "os.name"), mlperf_known(record, "os.kernel"));
  node["filesystem"] = mlperf_unknown;
  return node;
}

Json endpoints_system(const Record& record) {
  Json system;
  const bool remote = is_remote(record.point.placement);
  system["system_name"] = remote ? placement_name(record.point.placement) : mlperf_system_name(record);
  system["shortened_system_name"] = system["system_name"].get<std::string>().substr(0, 20);
  system["system_availability_status"] = "RDI";
  system["division"] = "RDI";
  if (remote) return system;
  system["system_size"] = size_of(record);
  system["system_node_ensemble_count"] = 1;
  system["system_node_ensemble_total"] = 1;
  system["serving_framework"] =
      fmt::format("deepgap {}, {} {}", mlperf_known(record, "deepgap.version"), record.point.backend, record.backend_version);
  return system;
}

}  // namespace deepgap
