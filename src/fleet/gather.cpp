#include "fleet/gather.h"

#include "analysis/outlier_nodes.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace deepgap {
namespace {

constexpr double clock_tolerance_s = 2, slow_hand_in_s = 5;
constexpr int most_rounds = 10;

// The parts of all tasks; a kind's are a scope, since the whole Plan is measured on each.
std::vector<MergeInput> parts_of_fleet(const Fleet& fleet) {
  std::vector<MergeInput> inputs;
  for (int task = 0; task < static_cast<int>(fleet.tasks.size()); ++task) {
    const std::string scope = std::to_string(fleet.task_group_of(task).kind);
    for (const std::string& part : parts_of_task(fleet, task)) inputs.push_back({part, scope});
  }
  return inputs;
}

void note_clocks_and_disks(const std::vector<Attempt>& attempts, std::vector<std::string>& notes) {
  std::map<std::string, std::pair<double, double>> worst;  // by node
  for (const Attempt& attempt : attempts) {
    auto& [clock, disk] = worst[attempt.node];
    if (std::fabs(attempt.clock_ahead_s) > std::fabs(clock)) clock = attempt.clock_ahead_s;
    disk = std::max(disk, attempt.slowest_hand_in_s);
  }
  for (const auto& [node, values] : worst) {
    const auto& [clock, disk] = values;
    if (std::fabs(clock) > clock_tolerance_s)
      notes.push_back(fmt::format("{}: its clock is {:.1f} s {} the shared disk's; times of its records are its own", node,
                                  std::fabs(clock), clock > 0 ? "ahead of" : "behind"));
    if (disk > slow_hand_in_s) notes.push_back(fmt::format("{}: the shared disk took up to {:.1f} s to store its results", node, disk));
  }
}

// Adds notes about task groups whose nodes have several kinds of device: all nodes of a task group should have one kind.
void note_devices(const Fleet& fleet, const std::vector<Attempt>& attempts, std::vector<std::string>& notes) {
  std::map<std::pair<int, std::string>, std::map<std::string, std::set<std::string>>> kinds;  // kind and device kind -> device -> nodes
  for (const Attempt& attempt : attempts) {
    if (attempt.device.empty()) continue;
    const TaskGroup& task_group = fleet.task_group_of(attempt.task);
    kinds[{task_group.kind, task_group.device}][attempt.device].insert(attempt.node);
  }
  for (const auto& [kind, devices] : kinds) {
    if (devices.size() < 2) continue;
    const auto most =
        std::max_element(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (const auto& [device, nodes] : devices) {
      if (device == most->first) continue;
      for (const std::string& node : nodes)
        notes.push_back(fmt::format("{}: it has {}, most of its kind have {}; its results stay apart", node, device, most->first));
    }
  }
}

// Compares nodes by the Point that all tasks of a task group measure.
void note_slow_nodes(const Fleet& fleet, const std::vector<Attempt>& attempts, std::vector<std::string>& notes) {
  using Kind = std::tuple<std::string, std::string, std::string>;  // constraint, kind of device, device
  std::map<Kind, std::vector<NodeReading>> readings;
  for (const Attempt& attempt : attempts) {
    const TaskGroup& task_group = fleet.task_group_of(attempt.task);
    const Kind kind{fleet.kinds.at(static_cast<size_t>(task_group.kind)), task_group.device, attempt.device};
    for (const double throughput : attempt.common) readings[kind].push_back({task_group.common, attempt.node, throughput});
  }
  for (const auto& [kind, of_kind] : readings) {
    for (const SlowNode& slow : slow_nodes(of_kind)) notes.push_back(fmt::format("{}: {}", slow.node, words_of(slow)));
  }
}

// An attempt that neither ended nor is the last of its task was lost with its node, or goes on without anybody knowing.
void note_lost(const std::vector<Attempt>& attempts, std::vector<std::string>& notes) {
  std::map<int, std::vector<const Attempt*>> by_task;
  for (const Attempt& attempt : attempts) by_task[attempt.task].push_back(&attempt);
  std::map<std::string, std::vector<std::string>> lost;  // node -> tasks
  for (const auto& [task, list] : by_task) {
    const auto done = std::count_if(list.begin(), list.end(), [](const Attempt* a) { return a->state == Attempt::State::done; });
    for (size_t i = 0; i < list.size(); ++i) {
      const bool is_last = i + 1 == list.size() && done == 0;
      if (list[i]->state == Attempt::State::running && !is_last) lost[list[i]->node].push_back(std::to_string(task));
    }
    if (done > 1) notes.push_back(fmt::format("task {}: {} attempts have ended with all of it; each result counts once", task, done));
  }
  for (const auto& [node, tasks] : lost) {
    std::string list;
    for (size_t i = 0; i < std::min<size_t>(tasks.size(), 5); ++i) list += (i == 0 ? "" : ", ") + tasks[i];
    if (tasks.size() > 5) list += fmt::format(" and {} more", tasks.size() - 5);
    notes.push_back(
        fmt::format("{}: an attempt at task {} ended without a word (lost with its node, or killed); another took it over", node, list));
  }
}

void note_failures(const std::vector<Attempt>& attempts, std::vector<std::string>& notes) {
  std::map<std::string, std::set<std::string>> reasons;  // reason -> nodes
  for (const Attempt& attempt : attempts) {
    if (attempt.state == Attempt::State::failed) reasons[attempt.reason].insert(attempt.node);
  }
  for (const auto& [reason, nodes] : reasons)
    notes.push_back(nodes.size() == 1 ? fmt::format("{}: {}", *nodes.begin(), reason) : fmt::format("{} nodes: {}", nodes.size(), reason));
}

}  // namespace

std::vector<std::string> node_notes(const Fleet& fleet, const std::vector<Attempt>& attempts) {
  std::vector<std::string> notes;
  note_failures(attempts, notes);
  note_devices(fleet, attempts, notes);
  note_slow_nodes(fleet, attempts, notes);
  note_clocks_and_disks(attempts, notes);
  note_lost(attempts, notes);
  return notes;
}

std::optional<Gathered> gather_fleet(const Fleet& fleet, const std::string& store, const std::function<bool()>& interrupted) {
  Gathered gathered;
  gathered.planned = fleet.records();
  for (int round = 1;; ++round) {
    std::vector<std::string> unreadable;
    bool moved = false;
    MergeSettings settings{.once = Once::scope, .replace = true};
    settings.interrupted = interrupted;
    settings.unreadable = [&](const MergeInput& input, const std::string& reason) {
      moved |= ::access(input.path.c_str(), F_OK) != 0;  // a task has put its whole Store in the place of its parts meanwhile
      unreadable.push_back(reason);
    };
    const auto report = merge_stores(parts_of_fleet(fleet), store, settings);
    if (!report) return std::nullopt;
    if (moved && round < most_rounds) continue;
    gathered.merge = *report;
    gathered.there = report->written - report->interrupted;
    gathered.notes = node_notes(fleet, read_attempts(fleet));
    gathered.notes.insert(gathered.notes.end(), unreadable.begin(), unreadable.end());
    return gathered;
  }
}

FleetStatus status_of(const Fleet& fleet, const std::vector<Attempt>& attempts, const std::vector<QueuedTask>& queue) {
  FleetStatus status;
  std::map<int, std::vector<const Attempt*>> by_task;
  for (const Attempt& attempt : attempts) by_task[attempt.task].push_back(&attempt);
  std::map<int, const QueuedTask*> queued;
  for (const QueuedTask& one : queue) queued[one.task] = &one;
  for (int task = 0; task < static_cast<int>(fleet.tasks.size()); ++task) {
    const auto& tried = by_task[task];
    for (const Attempt* attempt : tried) status.records += attempt->records;
    if (std::any_of(tried.begin(), tried.end(), [](const Attempt* a) { return a->state == Attempt::State::done; })) {
      ++status.done;
      continue;
    }
    const auto found = queued.find(task);
    const std::string last =
        tried.empty() || tried.back()->reason.empty() ? "" : fmt::format("{}: {}", tried.back()->node, tried.back()->reason);
    if (found == queued.end()) {
      status.missing.push_back(task);
      status.lines.push_back(fmt::format("no node works on task {}{}", task, last.empty() ? "" : "; " + last));
    } else if (found->second->state == QueuedTask::State::running) {
      ++status.running;
      status.lines.push_back(fmt::format("task {} runs on {}", task, found->second->node));
    } else if (found->second->state == QueuedTask::State::held) {
      ++status.held;
      status.lines.push_back(fmt::format("task {} is held: {}", task, found->second->reason));
    } else {
      ++status.waiting;
    }
  }
  return status;
}

}  // namespace deepgap
