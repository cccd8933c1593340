// Drives a Target with LoadGen's traffic: the loaded sets, queries, samples and times of LoadgenSchedule, issued and ended by LoadGen's
// rules, in the Clock's time, real or virtual.
//
// A query with more samples than the Target takes at a time is submitted in pieces, and what finds no room in the Target waits here: that
// is the system under test's queue, so the wait counts. Latency counts from the scheduled time in Server, from the issue in SingleStream
// and MultiStream, from the start in Offline. Memory: 8 bytes a sample for its latency, and the samples that are outstanding.
#pragma once

#include "mlperf/loadgen/schedule.h"
#include "mlperf/loadgen/settings.h"

#include <deepgap/clock.h>
#include <deepgap/record.h>
#include <deepgap/target.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {

// One call of query generation and what came of it: performance, or one loaded set of accuracy. Times in ns after the start of issuing.
struct LoadgenPhaseResult {
  LoadgenMode mode = LoadgenMode::performance;  // or accuracy
  LoadgenGenerated generated;
  Nanoseconds start = 0;                   // on the run's Clock
  int64_t queries = 0;                     // issued
  std::vector<int64_t> sample_latency_ns;  // in the order of issue
  std::vector<int64_t> query_latency_ns;   // MultiStream: until the query's last sample
  // Where latencies of tokens are measured, in the order of issue: time to the first token and for each after it (not Offline), tokens.
  std::vector<int64_t> first_token_ns, per_token_ns, tokens;
  int64_t last_scheduled_ns = 0, last_issued_ns = 0;  // times of the last query
  int64_t last_done_ns = 0;                           // when the last query's last sample was finished
  int64_t active_ns = 0;                              // until the last completion of all
  bool ended_naturally = false;                       // not Server: enough queries and time
  std::vector<std::string> errors;                    // what ended it before that
};

struct LoadgenFinishedSample {
  uint64_t sequence = 0, query = 0;  // counted through the run
  uint32_t index = 0;
  Nanoseconds scheduled = 0, issued = 0, done = 0;  // on the run's Clock
  bool logged = false;                              // its answer belongs into the accuracy log
  int64_t tokens = 0;                               // in the answer, where latencies of tokens are measured
  std::string_view answer;                          // bytes, where logged; valid during the call
};

// Hears of a run, on the driving thread.
class LoadgenObserver {
 public:
  virtual ~LoadgenObserver() = default;
  virtual void on_phase(LoadgenMode) {}  // begins
  virtual void on_set(const LoadgenSet&) {}
  virtual void on_sample(const LoadgenFinishedSample&) {}
  virtual void on_query(const Timing&) {}               // its last sample is finished; `query` counts through the run
  virtual void on_result(const LoadgenPhaseResult&) {}  // called after each set
};

// The bytes that a model's answer for one sample, a row of its outputs, has in the accuracy log. Any thread.
using LoadgenAnswer = std::function<std::string(std::span<const TensorView> outputs, size_t row)>;

struct LoadgenDrive {
  LoadgenSettings settings;
  Target* target = nullptr;
  Clock* clock = nullptr;
  LoadgenObserver* observer = nullptr;  // may be left out
  LoadgenAnswer answer;                 // likewise; answers are empty then
};

// The run from its first set to its last; loads and unloads the sets. One result a set, the performance phase's last; fewer when
// `interrupted`. Throws Error{usage} for the settings (check_settings), Error{internal} when the Target fails or completes what was not
// asked of it. A Target that never completes is for the caller's time-out.
std::vector<LoadgenPhaseResult> drive_loadgen(const LoadgenDrive& drive, const std::atomic<bool>& interrupted);

}  // namespace deepgap
