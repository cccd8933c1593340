// The time of every layer of a network as an engine ran it, beside that of the whole. Plain data, made by the worker.
#pragma once

#include "kernels/counted_run.h"
#include "kernels/cpu_counters.h"
#include "kernels/trace.h"

#include <deepgap/clock.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Layers in the order of execution.
struct ProfiledLayer {
  std::string name;                           // as the engine says it: fused layers join node names with '+'
  std::string op;                             // as the engine says it
  std::vector<std::string> nodes, operators;  // names in the Graph; empty: the engine added the layer itself
  std::string precision;                      // precision of its multiply-accumulates
  Nanoseconds ns = 0;                         // measured like whole_ns
  int64_t macs = 0, flop = 0, bytes = 0;      // for the batch; -1 where not known
};

struct LayerProfile {
  std::string engine;  // name and version
  int64_t batch = 1;   // samples of a run
  int rounds = 0;
  std::vector<ProfiledLayer> layers;
  // Time of a run without instrumentation. All times are means over the faster half of the rounds: unlike medians they add up, and unlike
  // means over all rounds a disturbance does not change them.
  Nanoseconds whole_ns = 0;
  Nanoseconds whole_after_ns = 0;  // the same again, once the device is not watched any more; 0: it was not watched
  // Work of a training step by the network's graph, not split into layers; -1: not known, or the profile has layers.
  int64_t step_flop = -1, step_bytes = -1;
  std::vector<std::string> left_over;  // nodes with multiply-accumulates that no layer names
  // On a GPU: its trace of one batch, taken apart from the timed runs. Its layers are those above, in their order.
  std::optional<Trace> trace;
  std::string trace_missing;  // why there is none
  // On a GPU: its counts for one batch, or why there are none; empty if nobody asked.
  std::optional<CountedRun> counters;
  // On a CPU: its counts for one batch, taken apart from the timed runs.
  CpuCounts cpu;
  // Times of layers are those of their kernels in the trace; otherwise the engine's own.
  bool times_of_kernels = false;
};

nlohmann::json layer_profile_to_json(const LayerProfile& profile);
LayerProfile layer_profile_from_json(const nlohmann::json& json);

}  // namespace deepgap
