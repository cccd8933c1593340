// WorkloadDriver: what fills the windows of an order with units of work: a Scenario's queries, a run by RunRules. measure() knows no more
// of it than this, so that another kind of work (steps of training, a duel's turns) is one more WorkloadDriver and no case in measure().
//
// Made from the Point before anything is loaded; used by the worker's main thread. A WorkloadDriver that fails throws Error.
#pragma once

#include "record/own_time.h"
#include "scenario/dispatcher.h"
#include "scenario/end_to_end_target.h"
#include "worker/heartbeat.h"
#include "worker/order.h"
#include "worker/output_sketch.h"
#include "worker/turns.h"

#include <deepgap/clock.h>
#include <deepgap/dataset.h>
#include <deepgap/record.h>
#include <deepgap/target.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// Everything loaded, checked and joined, for a WorkloadDriver to fill. All of it outlives the call.
struct DriverContext {
  const WorkOrder& order;
  Clock& clock;
  Heartbeat& heartbeat;
  const std::atomic<bool>& interrupted;
  Dataset& dataset;
  std::span<const uint32_t> samples;  // loaded into `target`
  Target& target;
  Dispatcher* dispatcher = nullptr;      // in `target`, where there is one
  EndToEndTarget* end_to_end = nullptr;  // likewise
  Turns* turns = nullptr;                // a contender's worker with its parent
  OutputSketch answers = {};             // to the first sample; of a contender
  std::function<void()> edge = [] {};    // reads telemetry, at the begin and end of a time slice
};

// Waits until `end` by the clock, or until it is interrupted; the parent sees heartbeats meanwhile.
inline void wait_until(Nanoseconds end, const DriverContext& context) {
  constexpr Nanoseconds at_a_time = 100'000'000;
  while (context.clock.now() < end && !context.interrupted) {
    context.heartbeat.beat();
    context.clock.wait_until(std::min(end, context.clock.now() + at_a_time));
  }
}

struct WarmedUp {
  int64_t units = 0;
  std::string reason;  // why it was enough; empty: it ended before that was known
};

// The results of a window, as a Record keeps them.
struct Measured {
  std::vector<Slice> slices;     // the time slices that `window` consists of; empty: it is one piece
  std::optional<Window> window;  // exactly what was measured; nullopt: all that fill() took
  std::vector<Timing> timings;   // timings of units of work, in order of completion
  int64_t timings_dropped = 0;
  std::map<std::string, Estimate> estimates;
  Facts facts;
  std::vector<Series> series;
  Verdict verdict = Verdict::valid;
  std::string reason;
  std::string wrong;  // why what was done is wrong, so that its times say nothing; empty: it is not known to be
};

class WorkloadDriver {
 public:
  virtual ~WorkloadDriver() = default;
  // Names the unit of one Timing: "batch", "query", "step".
  virtual std::string unit() const = 0;
  // Names the measured window. Metrics of the machine's state need a window `steady`, which is one piece.
  virtual std::string window() const { return "steady"; }
  // Units of work that it keeps in flight: the slots its Sessions must hold at least.
  virtual int64_t in_flight() const = 0;
  // Returns whether it keeps as many in flight as the Sessions have slots, where these are more.
  virtual bool uses_all_slots() const = 0;
  // Returns whether its own work shows how accurate the answers are, so that none are requested for that before.
  virtual bool judges_accuracy() const = 0;
  virtual WarmedUp warm_up(const DriverContext& context) = 0;
  // The measured window: the work and nothing else. Ends by its Stopping or `interrupted`, with nothing in flight.
  virtual void fill(const DriverContext& context) = 0;
  // Returns whether the beginning of the last fill() was still warming up, the rest being steady: it may be filled anew.
  virtual bool was_warming() const { return false; }
  // Returns whether the last fill() has enough in it to be a result although it was interrupted.
  virtual bool can_be_cut() const { return false; }
  // Returns the result of the last fill(), which was not interrupted or can be cut; once. It may take long: nothing is measured any more.
  virtual Measured measured(const DriverContext& context) = 0;
};

}  // namespace deepgap
