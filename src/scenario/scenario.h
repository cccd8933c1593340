// Scenario: how load is offered. One file each, by registrar. Its logic runs on one thread and takes the time only from the Clock, so
// that every scenario runs in virtual time in its tests.
#pragma once

#include "base/registry.h"
#include "record/load_axis.h"
#include "scenario/failures.h"
#include "scenario/offered_load.h"
#include "scenario/stopping.h"

#include <deepgap/backend.h>
#include <deepgap/clock.h>
#include <deepgap/record.h>
#include <deepgap/target.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// Receives each Timing in order of completion, on the scenario's thread.
class TimingSink {
 public:
  virtual ~TimingSink() = default;
  virtual void add(const Timing& timing) = 0;
};

// The queries that a Scenario sends, their Target, and their end.
struct Traffic {
  Target* target = nullptr;
  std::vector<uint32_t> samples;  // loaded Dataset indices, cycled
  int64_t batch = 1;
  Stopping* stopping = nullptr;
  TimingSink* sink = nullptr;
  Nanoseconds duration = never;     // an open loop offers what is due in so much time, whatever is answered
  Nanoseconds lead = 0;             // so long before, queries of it come that are not recorded
  std::function<void()> on_window;  // called when that is over, on the scenario's thread; empty: nobody asks
  OfferedLoad* offered = nullptr;   // filled by an open loop when its drive() ends; nullptr: nobody asks
  Failures* failures = nullptr;     // filled where the Target outlives them; nullptr: the first failure ends the run
};

class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual std::string name() const = 0;
  virtual std::string describe() const = 0;
  virtual std::vector<OptionInfo> options() const = 0;
  // Checks and keeps the options it knows. Throws Error{usage}.
  virtual void parse(const std::map<std::string, std::string>& options) = 0;
  // Checks that its queries can hold so many samples. Throws Error{usage}.
  virtual void check_batch(int64_t /*batch*/) const {}
  // Queries it keeps in flight, after parse(): the slots its Session must be loaded with at least.
  virtual int64_t in_flight() const { return 1; }
  // Completions in which each of those that a closed loop keeps in flight is answered once; of all samples at once, one of each of so many
  // devices. What others do has no rounds.
  virtual int64_t round(int64_t /*devices*/) const { return 1; }
  // Returns whether it keeps as many in flight as the Session has slots, if these are more.
  virtual bool uses_all_slots() const { return false; }
  // Length of the measured window where nobody asked for another ending. 0: the Stopping settings hold; never: until the scenario ends by
  // itself.
  virtual Nanoseconds default_duration() const { return 0; }
  // Returns how long queries come before a window of that length, so that it begins with a queue as usual, not with an empty one.
  virtual Nanoseconds lead(Nanoseconds /*window*/) const { return 0; }
  // Returns the traits that modules use which know the scenario by name.
  virtual ScenarioTraits traits() const { return {}; }
  // Runs until the Stopping has enough (or its budget ends), the schedule ends, or `interrupted`. Everything
  // submitted is completed when it returns. Called once for the warm-up and once for the steady window, each with its
  // own Stopping and sink. What completes after the end was decided is not recorded. Throws Error when the Target
  // fails.
  virtual void drive(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted) = 0;
};

// A scenario's file registers itself with this.
template <typename S>
bool add_scenario() {
  const S scenario;
  const auto make = [] { return std::make_unique<S>(); };
  return declare_scenario(scenario.name(), scenario.traits()) && Registry<Scenario>::instance().add(scenario.name(), make);
}

}  // namespace deepgap
