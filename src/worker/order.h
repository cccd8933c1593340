// WorkOrder: one (Point, repeat) as the parent hands it to a worker, and the Record that both begin from it. Plain data.
#pragma once

#include <deepgap/error.h>
#include <deepgap/record.h>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

struct WorkOrder {
  Point point;
  int repeat = 0;
  int sweep = 0;
  StoppingSettings stopping;
  bool check = true;
  std::string run_id;
  std::string study;
  std::string cache_dir;              // empty: cache nothing
  std::string log_dir;                // folder of the logs that the rules of a run ask for; empty: none are written
  bool log_trace = false;             // a trace among them
  std::string reference_unavailable;  // why no reference can be made; empty: it can, or nobody tried yet
  int ranks = 1;                      // processes that measure this Point together: each waits for the others before its steady window
  int rank = 0;
  std::string save_weights = {};  // file for the weights that were trained; empty: none
  bool interleaved = false;       // it is measured in time slices, between those of others that stay loaded too
  bool keep_cut_window = false;  // a measured window that the user interrupts is a result, where it can be one (WorkloadDriver::can_be_cut)
};
nlohmann::json order_to_json(const WorkOrder& order);
WorkOrder order_from_json(const nlohmann::json& json);  // throws Error{input}

// Fills in what is known before anything has run: identity, time and settings.
Record begin_record(const WorkOrder& order);
// refused -> refused, out_of_memory -> out_of_memory, device_lost -> device_lost, usage and input -> refused, internal -> crashed
Outcome outcome_of(ErrorKind kind);
void fail_record(Record& record, Outcome outcome, const std::string& reason);
// Notes why a Record is refused, as facts refused.by, the backend's name, "deepgap" or "tenant" (a neighbour), and refused.at, "inspection"
// or a worker's phase.
void note_refusal(Record& record, const std::string& by, const std::string& at);

}  // namespace deepgap
