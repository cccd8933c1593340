#include "kernels/trace_json.h"
#include "profile/layer_profile.h"

#include <nlohmann/json.hpp>

namespace deepgap {

using nlohmann::json;

json layer_profile_to_json(const LayerProfile& profile) {
  json layers = json::array();
  for (const ProfiledLayer& layer : profile.layers)
    layers.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"nodes", layer.nodes},
                      {"operators", layer.operators},
                      {"precision", layer.precision},
                      {"ns", layer.ns},
                      {"macs", layer.macs},
                      {"flop", layer.flop},
                      {"bytes", layer.bytes}});
  return {{"engine", profile.engine},
          {"batch", profile.batch},
          {"rounds", profile.rounds},
          {"whole_ns", profile.whole_ns},
          {"whole_after_ns", profile.whole_after_ns},
          {"step_flop", profile.step_flop},
          {"step_bytes", profile.step_bytes},
          {"left_over", profile.left_over},
          {"layers", layers},
          {"trace", profile.trace ? trace_to_json(*profile.trace) : json(nullptr)},
          {"trace_missing", profile.trace_missing},
          {"times_of_kernels", profile.times_of_kernels},
          {"counters", profile.counters ? counted_run_to_json(*profile.counters) : json(nullptr)},
          {"cpu_counts", profile.cpu.counts},
          {"cpu_missing", profile.cpu.missing}};
}

LayerProfile layer_profile_from_json(const json& object) {
  LayerProfile profile;
  object.at("engine").get_to(profile.engine);
  object.at("batch").get_to(profile.batch);
  object.at("rounds").get_to(profile.rounds);
  object.at("whole_ns").get_to(profile.whole_ns);
  profile.whole_after_ns = object.value("whole_after_ns", Nanoseconds{0});  // Stores may be older
  object.at("left_over").get_to(profile.left_over);
  for (const json& row : object.at("layers")) {
    ProfiledLayer layer;
    row.at("name").get_to(layer.name);
    row.at("op").get_to(layer.op);
    row.at("nodes").get_to(layer.nodes);
    row.at("operators").get_to(layer.operators);
    row.at("precision").get_to(layer.precision);
    row.at("ns").get_to(layer.ns);
    row.at("macs").get_to(layer.macs);
    row.at("flop").get_to(layer.flop);
    row.at("bytes").get_to(layer.bytes);
    profile.layers.push_back(std::move(layer));
  }
  if (!object.at("trace").is_null()) profile.trace = trace_from_json(object.at("trace"));
  object.at("trace_missing").get_to(profile.trace_missing);
  object.at("cpu_counts").get_to(profile.cpu.counts);
  object.at("cpu_missing").get_to(profile.cpu.missing);
  object.at("times_of_kernels").get_to(profile.times_of_kernels);
  // Profiles that were kept before there were counters have none of these.
  profile.step_flop = object.value("step_flop", int64_t{-1});
  profile.step_bytes = object.value("step_bytes", int64_t{-1});
  if (object.contains("counters") && !object.at("counters").is_null()) profile.counters = counted_run_from_json(object.at("counters"));
  return profile;
}

}  // namespace deepgap
