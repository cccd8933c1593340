#include "base/json_words.h"
#include "ceilings/ceilings.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {

using nlohmann::json;

namespace {

json sustained_to_json(const std::optional<Sustained>& sustained) {
  if (!sustained) return nullptr;
  return {{"per_s", sustained->per_s},
          {"sm_hz", sustained->sm_hz},
          {"memory_hz", sustained->memory_hz},
          {"power_w", sustained->power_w},
          {"limited_by", sustained->limited_by}};
}

std::optional<Sustained> sustained_from_json(const json& row) {
  const auto found = row.find("sustained");
  if (found == row.end() || found->is_null()) return std::nullopt;
  return Sustained{found->at("per_s"), found->at("sm_hz"), found->at("memory_hz"), found->at("power_w"), found->at("limited_by")};
}

json gpu_to_json(const GpuCeilings& gpu) {
  return {{"device", gpu.device},
          {"architecture", gpu.architecture},
          {"multiprocessors", gpu.multiprocessors},
          {"cache_bytes", gpu.cache_bytes},
          {"l1_bytes_per_s", gpu.l1_bytes_per_s},
          {"shared_bytes_per_s", gpu.shared_bytes_per_s},
          {"to_device_bytes_per_s", gpu.to_device_bytes_per_s},
          {"to_host_bytes_per_s", gpu.to_host_bytes_per_s},
          {"launch_issue_s", gpu.launch.issue_s},
          {"launch_in_stream_s", gpu.launch.in_stream_s},
          {"launch_in_graph_s", gpu.launch.in_graph_s},
          {"launch_round_trip_s", gpu.launch.round_trip_s},
          {"event_s", gpu.launch.event_s}};
}

GpuCeilings gpu_from_json(const json& row) {
  GpuCeilings gpu;
  row.at("device").get_to(gpu.device);
  row.at("architecture").get_to(gpu.architecture);
  row.at("multiprocessors").get_to(gpu.multiprocessors);
  row.at("cache_bytes").get_to(gpu.cache_bytes);
  row.at("l1_bytes_per_s").get_to(gpu.l1_bytes_per_s);
  row.at("shared_bytes_per_s").get_to(gpu.shared_bytes_per_s);
  row.at("to_device_bytes_per_s").get_to(gpu.to_device_bytes_per_s);
  row.at("to_host_bytes_per_s").get_to(gpu.to_host_bytes_per_s);
  gpu.launch = {row.at("launch_issue_s"), row.at("launch_in_stream_s"), row.at("launch_in_graph_s"), row.at("launch_round_trip_s"),
                row.at("event_s")};
  return gpu;
}

}  // namespace

json ceilings_to_json(const Ceilings& ceilings) {
  json object{{"threads", ceilings.threads}, {"seconds", ceilings.seconds}, {"compute", json::array()}, {"memory", json::array()}};
  for (const ComputeCeiling& compute : ceilings.compute)
    object["compute"].push_back({{"precision", compute.precision},
                                 {"kernel", compute.kernel},
                                 {"flop_per_s", compute.flop_per_s},
                                 {"median_flop_per_s", compute.median_flop_per_s},
                                 {"sustained", sustained_to_json(compute.sustained)}});
  for (const MemoryCeiling& memory : ceilings.memory)
    object["memory"].push_back({{"footprint_bytes", memory.footprint_bytes},
                                {"read_bytes_per_s", memory.read_bytes_per_s},
                                {"triad_bytes_per_s", memory.triad_bytes_per_s},
                                {"median_bytes_per_s", memory.median_bytes_per_s},
                                {"sustained", sustained_to_json(memory.sustained)}});
  if (ceilings.gpu) object["gpu"] = gpu_to_json(*ceilings.gpu);
  if (!ceilings.left_out.empty()) object["left_out"] = ceilings.left_out;
  return object;
}

Ceilings ceilings_from_json(const json& object) {
  try {
    Ceilings ceilings;
    object.at("threads").get_to(ceilings.threads);
    object.at("seconds").get_to(ceilings.seconds);
    for (const json& row : object.at("compute"))
      ceilings.compute.push_back(
          {row.at("precision"), row.at("kernel"), row.at("flop_per_s"), row.at("median_flop_per_s"), sustained_from_json(row)});
    for (const json& row : object.at("memory"))
      ceilings.memory.push_back({row.at("footprint_bytes"), row.at("read_bytes_per_s"), row.at("triad_bytes_per_s"),
                                 row.at("median_bytes_per_s"), sustained_from_json(row)});
    if (const auto gpu = object.find("gpu"); gpu != object.end()) ceilings.gpu = gpu_from_json(*gpu);
    ceilings.left_out = object.value("left_out", ceilings.left_out);
    return ceilings;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("not a file of measured peaks: {}", json_words(error)));
  }
}

json ceilings_request_to_json(const CeilingsRequest& request) {
  return {{"cpus", request.cpus}, {"last_cache_bytes", request.last_cache_bytes}, {"memory_bytes", request.memory_bytes}};
}

CeilingsRequest ceilings_request_from_json(const json& object) {
  return {object.at("cpus").get<std::vector<int>>(), object.at("last_cache_bytes"), object.at("memory_bytes")};
}

}  // namespace deepgap
