#include "base/json_fields.h"
#include "kernels/trace_json.h"
#include "profile/layer_profile.h"

namespace deepgap {

template <typename V>
void fields(V& visit, ProfiledLayer& layer) {
  visit("name", layer.name);
  visit("op", layer.op);
  visit("nodes", layer.nodes);
  visit("operators", layer.operators);
  visit("precision", layer.precision);
  visit("ns", layer.ns);
  visit("macs", layer.macs);
  visit("flop", layer.flop);
  visit("bytes", layer.bytes);
}

// Profiles of older versions have no whole_after_ns, and those from before there were counters nothing of these.
template <typename V>
void fields(V& visit, LayerProfile& profile) {
  visit("engine", profile.engine);
  visit("batch", profile.batch);
  visit("rounds", profile.rounds);
  visit("whole_ns", profile.whole_ns);
  visit("whole_after_ns", may_be_missing(profile.whole_after_ns));
  visit("step_flop", may_be_missing(profile.step_flop));
  visit("step_bytes", may_be_missing(profile.step_bytes));
  visit("left_over", profile.left_over);
  visit("layers", profile.layers);
  visit("trace", or_null(profile.trace));
  visit("trace_missing", profile.trace_missing);
  visit("times_of_kernels", profile.times_of_kernels);
  visit("counters", or_null(profile.counters));
  visit("cpu_counts", profile.cpu.counts);
  visit("cpu_missing", profile.cpu.missing);
}

nlohmann::json layer_profile_to_json(const LayerProfile& profile) { return json_of(profile); }
LayerProfile layer_profile_from_json(const nlohmann::json& json) {
  auto profile = json_to<LayerProfile>(json, "profile");
  if (profile.trace) check_layers(*profile.trace);
  return profile;
}

}  // namespace deepgap
