// LaneScheduler: a Scheduler for machines that have none of their own: whoever waits runs the tasks, one at a time on each lane. What is
// local and what goes through ssh differs in the program that is started.
//
// A lane and a task are held by locks on files of the fleet's folder, which end with the process that holds them, however it ends. So
// several may wait at a time, and none of them matters.
#pragma once

#include "base/file.h"
#include "base/subprocess.h"
#include "fleet/scheduler.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

class LaneScheduler : public Scheduler {
 public:
  std::vector<std::string> check(const Fleet& fleet) override;
  void submit(const Fleet& fleet, const std::vector<int>& tasks) override;
  std::vector<QueuedTask> list(const Fleet& fleet) override;
  void cancel(const Fleet& fleet) override;
  void wait(const Fleet& fleet, const std::function<bool()>& interrupted) override;
  void leave(const Fleet& fleet) override;

 protected:
  // Names of the lanes: one task at a time on each.
  virtual std::vector<std::string> lanes(const Fleet& fleet) const = 0;
  virtual SubprocessOptions command(const Fleet& fleet, const std::string& lane, int task) = 0;
  virtual void ended(const Fleet& /*fleet*/, const std::string& /*lane*/, int /*task*/) {}

 private:
  struct Running {
    int task = 0;
    FileDescriptor lane_lock, task_lock;
    std::unique_ptr<Subprocess> process;
    bool asked_to_end = false;
  };
  bool begin(const Fleet& fleet, const std::string& lane);
  bool end_if_over(const Fleet& fleet, const std::string& lane, Running& running);
  bool is_tried_often(int task) const;

  std::map<std::string, Running> running_;  // by lane
  std::map<int, int> tries_;                // tries by task, in this process
  std::map<int, bool> done_;
};

// An exclusive lock on a file that is made where it is not there; not valid where another process has it. Gone with the descriptor.
FileDescriptor try_lock(const std::string& path, const std::string& content = "");

}  // namespace deepgap
