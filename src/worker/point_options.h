// A Point's options, sorted by who they are for. Keys are a backend's, a scenario's or one of ours; "NAME.key" is for backend NAME alone,
// so that a Study over several engines can set one of them. docs/reference/command-line.md lists ours.
#pragma once

#include <deepgap/backend.h>
#include <deepgap/point.h>
#include <deepgap/train.h>

#include "model/steering_inputs.h"
#include "quantize/settings.h"
#include "scenario/scenario.h"
#include "stats/latency_bound.h"
#include "telemetry/near_cpus.h"
#include "worker/dispatch_options.h"
#include "worker/end_to_end_options.h"
#include "worker/generate_options.h"
#include "worker/power_asked.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct PointOptions {
  std::map<std::string, std::string> backend;  // those that it declares, without prefix
  InputPlace inputs = InputPlace::host;
  std::map<std::string, std::string> scenario;
  std::map<std::string, std::string> environment;  // variables of the worker process, from env.NAME
  std::map<std::string, std::vector<int64_t>> shapes;
  InputNumbers input_numbers;               // what made-up samples hold
  uint64_t seed = 1;                        // seed of weights and samples; also the backend's where it has one
  int64_t samples = 4;                      // that a query's batch cycles, and whose outputs are checked
  std::string labels;                       // file of the Dataset's labels
  int64_t label_offset = 0;                 // added to each
  std::optional<int64_t> accuracy_samples;  // labelled samples that are answered before anything is timed; nullopt: all, 0: none
  int64_t arrivals = 0;                     // which draw of a random schedule
  int64_t streams = 1;                      // slots of the Session at least
  std::string affinity = "none";
  DispatchOptions dispatch;
  EndToEndOptions end_to_end;
  std::optional<LatencyBound> bound;       // on latency, that a valid result holds
  std::vector<LatencyBound> token_bounds;  // likewise, on other times of queries that generate
  PowerAsked power = PowerAsked::either;   // the state of the GPUs to measure in
  double failed_allowed = 0;               // share of the queries that a valid result may have failed, where the Session outlives failures
  std::string reference;                   // file of the Model that a server's is compared with; empty: none
  bool peak_search = false;                // a run of one: worker/peak_probe.h
  bool ends_when_hopeless = false;         // likewise, once it cannot hold its bound any more
  TrainSettings train;                     // for task train
  GenerateOptions generate;                // for task generate
  QuantizeSettings quantize;               // from quantize.NAME: how an FP32 Model becomes one for precision int8
};

const std::vector<OptionInfo>& worker_options();  // ours

// Throws Error{usage} "unknown option 'latncy' of null, did you mean 'latency'?" and for values that cannot be read.
PointOptions sort_options(const Point& point, const std::vector<OptionInfo>& backend, const std::vector<OptionInfo>& scenario);
InputPlace input_place(const std::string& text);  // throws Error{usage}
// Returns the request to an engine; it has the Point's whole placement, of which each Session gets one device.
EngineRequest engine_request(const Point& point, const PointOptions& options);

// The environment and what else must be equal for Points to share a process: "affinity=first;env.X=1;mode=2".
std::string process_key(const Point& point, const std::vector<OptionInfo>& backend);
std::map<std::string, std::string> worker_environment(const Point& point);

// CPUs for `affinity`: "none" is empty, "first" the first `threads` of `allowed`, else a list "0-3/8". Throws Error{usage} for one that
// is not allowed here.
std::optional<Side> gpu_side(const std::string& affinity);  // for "near" and "far", which telemetry/near_cpus.h answers
std::vector<int> affinity_cpus(const std::string& affinity, int threads, const std::vector<int>& allowed);

}  // namespace deepgap
