#include "base/json_fields.h"
#include "ceilings/ceilings.h"

namespace deepgap {

template <typename V>
void fields(V& visit, Sustained& sustained) {
  visit("per_s", sustained.per_s);
  visit("sm_hz", sustained.sm_hz);
  visit("memory_hz", sustained.memory_hz);
  visit("power_w", sustained.power_w);
  visit("limited_by", sustained.limited_by);
}

template <typename V>
void fields(V& visit, ComputeCeiling& compute) {
  visit("precision", compute.precision);
  visit("kernel", compute.kernel);
  visit("flop_per_s", compute.flop_per_s);
  visit("median_flop_per_s", compute.median_flop_per_s);
  visit("sustained", or_null(compute.sustained));
}

template <typename V>
void fields(V& visit, MemoryCeiling& memory) {
  visit("footprint_bytes", memory.footprint_bytes);
  visit("read_bytes_per_s", memory.read_bytes_per_s);
  visit("triad_bytes_per_s", memory.triad_bytes_per_s);
  visit("median_bytes_per_s", memory.median_bytes_per_s);
  visit("sustained", or_null(memory.sustained));
}

template <typename V>
void fields(V& visit, GpuCeilings& gpu) {
  visit("device", gpu.device);
  visit("architecture", gpu.architecture);
  visit("multiprocessors", gpu.multiprocessors);
  visit("cache_bytes", gpu.cache_bytes);
  visit("l1_bytes_per_s", gpu.l1_bytes_per_s);
  visit("shared_bytes_per_s", gpu.shared_bytes_per_s);
  visit("to_device_bytes_per_s", gpu.to_device_bytes_per_s);
  visit("to_host_bytes_per_s", gpu.to_host_bytes_per_s);
  visit("launch_issue_s", gpu.launch.issue_s);
  visit("launch_in_stream_s", gpu.launch.in_stream_s);
  visit("launch_in_graph_s", gpu.launch.in_graph_s);
  visit("launch_round_trip_s", gpu.launch.round_trip_s);
  visit("event_s", gpu.launch.event_s);
}

template <typename V>
void fields(V& visit, Ceilings& ceilings) {
  visit("threads", ceilings.threads);
  visit("seconds", ceilings.seconds);
  visit("compute", ceilings.compute);
  visit("memory", ceilings.memory);
  visit("gpu", ceilings.gpu);
  visit("left_out", unless_default(ceilings.left_out));
}

template <typename V>
void fields(V& visit, CeilingsRequest& request) {
  visit("cpus", request.cpus);
  visit("last_cache_bytes", request.last_cache_bytes);
  visit("memory_bytes", request.memory_bytes);
}

nlohmann::json ceilings_to_json(const Ceilings& ceilings) { return json_of(ceilings); }
Ceilings ceilings_from_json(const nlohmann::json& json) { return json_to<Ceilings>(json, "file of measured peaks"); }
nlohmann::json ceilings_request_to_json(const CeilingsRequest& request) { return json_of(request); }
CeilingsRequest ceilings_request_from_json(const nlohmann::json& json) { return json_to<CeilingsRequest>(json, "request"); }

}  // namespace deepgap
