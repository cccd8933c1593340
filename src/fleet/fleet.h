// Fleet: a Study's Plan, cut into tasks that other machines work on, and the folder that holds all there is to know of it
// (docs/how-to/run-on-a-cluster.md):
//
//   fleet.json             what was asked and how it was cut; written once
//   tasks/000012.json      the Jobs of a task
//   parts/000012/          what attempts at it have handed in: Stores, and attempt-ID.json, what each says of itself
//   scripts/, logs/        what a Scheduler was given, and what tasks have printed
//
// Whoever submits, lists, waits or gathers reads the folder and asks the Scheduler: there is no other state, so any of these may be killed
// and called again, from any machine that sees the folder. Files appear whole (renamed into place). One thread.
#pragma once

#include "plan/study.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Tasks that need the same of a node: of one kind of node, one network, one kind of device. A job array.
struct TaskGroup {
  int kind = 0;               // Fleet::kinds
  std::string model, device;  // device: cpu, cuda
  int gpus = 0;               // that a task needs at least
  int first_task = 0, tasks = 0;
  double longest_s = 0;      // longest task in seconds, by the time estimate
  double seconds = 0;        // seconds of all tasks
  double longest_run_s = 0;  // longest run in seconds
  std::string common;        // point_id of the Point that each of its tasks measures, so that nodes can be compared; empty: none
};

struct FleetTask {
  int task_group = 0;
  int64_t records = 0;  // (Point, repeat) pairs
  double seconds = 0;
};

struct Fleet {
  std::string folder;  // absolute
  std::string id;      // eight hex digits; in the names of its jobs
  std::string study, study_file;
  uint64_t seed = 1;
  int64_t created_unix = 0;
  std::string scheduler;
  std::map<std::string, std::string> options;  // options for the scheduler: partition, account, hosts ...
  std::vector<std::string> kinds{""};          // node constraints; a single empty one: any node
  std::string program;                         // deepgap on the nodes; with a bundle: below the folder that it is unpacked to
  std::string bundle;                          // archive; empty: none
  std::string directory;                       // where a task works, so that a Study's relative paths mean what they meant here
  std::string cache, device_kind;              // empty: each node's own; any
  std::string timeout = "60s";
  double hand_in_s = 5;  // how often at most what was measured is handed in
  int cpus = 1;          // that a Point may use
  std::vector<TaskGroup> task_groups;
  std::vector<FleetTask> tasks;

  int64_t records() const;
  double seconds() const;
  const TaskGroup& task_group_of(int task) const {
    return task_groups.at(static_cast<size_t>(tasks.at(static_cast<size_t>(task)).task_group));
  }
  std::string job_name() const { return "deepgap-" + id; }

  std::string task_file(int task) const;
  std::string parts_of(int task) const;
  std::string log_of(int task) const;
  std::string scripts() const { return folder + "/scripts"; }
};

// Throws Error{input}: no fleet, damaged, of a newer version.
Fleet read_fleet(const std::string& folder);
// Makes the folder, tasks first and fleet.json last: a folder without it was never submitted. Throws Error{input} where there is a fleet.
void write_fleet(const Fleet& fleet, const std::vector<std::vector<Job>>& jobs);
// Removes a fleet that has not begun. `whole`: the folder was made for it; else what is not its own stays there.
void remove_fleet(const Fleet& fleet, bool whole);
std::vector<Job> read_task(const Fleet& fleet, int task);

// The state of an attempt at a task, in parts/TASK/attempt-ID.json.
struct Attempt {
  enum class State { running, done, interrupted, failed };
  std::string id, node, device, reason, job;  // job: the scheduler's name of it
  int task = 0, restart = 0;                  // how often the scheduler has begun the job again
  State state = State::running;
  int64_t began_unix = 0, reported_unix = 0;  // by the node's clock
  int64_t records = 0;                        // records that it has measured
  double clock_ahead_s = 0;                   // how far the node's clock is ahead of the shared disk's
  double slowest_hand_in_s = 0;
  std::vector<double> common;  // throughputs that it measured of TaskGroup::common
};
void write_attempt(const Fleet& fleet, const Attempt& attempt);
// Reads the attempts at a task, or at all tasks; unreadable ones are left out.
std::vector<Attempt> read_attempts(const Fleet& fleet, int task);
std::vector<Attempt> read_attempts(const Fleet& fleet);

// Stores that were handed in for a task.
std::vector<std::string> parts_of_task(const Fleet& fleet, int task);
// Returns whether some attempt has finished the whole task.
bool is_done(const std::vector<Attempt>& attempts);

}  // namespace deepgap
