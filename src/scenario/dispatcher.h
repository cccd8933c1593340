// Dispatcher: a Target that queues queries, cuts them into batches and spreads these over instances: Sessions (as Targets) on one or more
// devices.
//
// A batch is the next samples that wait: the most urgent class first, in order of arrival within a class, at most max_batch. It leaves as
// soon as an instance has room and
//   - max_batch samples wait, or
//   - some query has waited for max_delay, or
//   - flush() was called and nothing was submitted since, or
//   - as many queries wait as the queue may hold.
// A query may be spread over several batches; its ranges are completed as they finish. With max_batch the size of every query and no delay
// this is a plain round-robin over Sessions.
//
// Threads: as every Target. It has none of its own and needs no call besides Target's: deadlines are scheduled on the Clock, and so is the
// look at the queue that follows a batch's completion, whatever thread that came on. So a Dispatcher sends on only while the scenario's
// thread submits or waits on the Clock, and it runs in virtual time as Scenarios do.
//
// A query that found the queue full is completed as cancelled and `shed`, inside submit(). A query fails where one of its batches does;
// submit(), flush() and Clock::wait_until() then throw what the instance throws, its name in front.
#pragma once

#include "scenario/dispatcher_log.h"
#include "scenario/waiting_queries.h"

#include <deepgap/target.h>

#include <memory>
#include <string>
#include <vector>

namespace deepgap {

enum class InstanceChoice {
  round_robin,   // the next one in turn that has room
  least_loaded,  // the one with the fewest samples in work; in turn where several have
};

struct DispatcherSettings {
  int64_t max_batch = 1;
  Nanoseconds max_delay = 0;         // after its submission, for a batch to fill
  std::vector<int64_t> batch_sizes;  // ascending, max_batch the last: a batch is filled up to the next of these; empty: any size runs
  int64_t queue_limit = 0;           // queries that wait; 0: as many as make a batch for every place in an instance
  int64_t least_in_flight = 1;       // queries that it takes in any case
  int64_t query_samples = 1;         // samples in the usual query: says how many queries make a batch
  Shedding shedding = Shedding::none;
  InstanceChoice choice = InstanceChoice::round_robin;
  int priorities = 1;  // classes; Query::priority 0 is the most urgent
};

struct DispatcherInstance {
  std::string name;                // for the log and for errors: "cuda:0", "cpu #2"
  std::shared_ptr<Target> target;  // whoever else has it uses it after the Dispatcher
};

class Dispatcher : public Target {
 public:
  virtual DispatcherLog take_log() = 0;  // since the last call; scenario's thread
};

// Every instance must take batches of max_batch. Throws Error{usage}.
std::unique_ptr<Dispatcher> make_dispatcher(std::vector<DispatcherInstance> instances, const DispatcherSettings& settings, Clock& clock);

}  // namespace deepgap
