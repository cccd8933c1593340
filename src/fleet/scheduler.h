// Scheduler: who runs the tasks of a fleet on other machines. A file each, added by registrar: local, ssh, slurm.
//
// A Scheduler keeps nothing between calls: what it has in hand it asks whoever has it (a queue, locks in the fleet's folder), so that any
// process on any machine may make one and go on. Its options are texts in Fleet::options. One thread.
#pragma once

#include "fleet/fleet.h"

#include <functional>
#include <string>
#include <vector>

namespace deepgap {

struct QueuedTask {
  int task = 0;
  enum class State { waiting, held, running } state = State::waiting;  // held: it will not begin by itself
  std::string node, reason;                                            // reason: why it waits, in the scheduler's words
};

struct SchedulerOption {
  const char* name;  // a flag, with - for _
  const char* describe;
  const char* value = "NAME";  // stands for it in the help
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual std::vector<SchedulerOption> options() const = 0;
  // Must be called before the Plan is cut. Throws Error{usage|input} for what the scheduler does not know or allow, and fills in what the
  // user left out: kinds, cpus, options. Returns the longest that a task may take; 0: any time.
  virtual double prepare(Fleet& fleet) = 0;
  // Rejects what cannot be run at all, after the Plan was cut and before anything is written. Returns notes for the user.
  virtual std::vector<std::string> check(const Fleet& fleet) = 0;
  // Takes tasks into hand, but for those that are there already. Called by whoever holds the fleet's lock.
  virtual void submit(const Fleet& fleet, const std::vector<int>& tasks) = 0;
  // Returns whether the scheduler may have something of the fleet, if only a look at a node; also if it cannot say.
  virtual bool may_have_taken(const Fleet& /*fleet*/) { return true; }
  // Reports, for a dry run, what it would be given, without taking it. Throws Error{input} if the scheduler would refuse it.
  virtual std::vector<std::string> rehearse(const Fleet& /*fleet*/) { return {}; }
  virtual std::vector<QueuedTask> list(const Fleet& fleet) = 0;
  virtual void cancel(const Fleet& fleet) = 0;
  // Brings to the fleet's folder what was handed in elsewhere; nothing where that is a shared disk.
  virtual void gather(const Fleet& fleet) = 0;
  // A moment of waiting, at most a second or two, in which one without a daemon works on its tasks.
  virtual void wait(const Fleet& fleet, const std::function<bool()>& interrupted) = 0;
  // Nobody waits any more: tasks that need a waiting process are ended in order.
  virtual void leave(const Fleet& fleet) = 0;
};

bool is_cancelled(const Fleet& fleet);  // by a file in its folder, which `fleet cancel` makes and `fleet submit` takes away
void mark_cancelled(const Fleet& fleet, bool cancelled);

}  // namespace deepgap
