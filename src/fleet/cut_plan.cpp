#include "fleet/cut_plan.h"

#include "base/dump_json.h"
#include "base/hash.h"
#include "record/duel_set.h"
#include "record/load_axis.h"
#include "record/record_json.h"
#include "record/tenant_set.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace deepgap {
namespace {

struct Cell {
  std::vector<Job> jobs;
  double seconds = 0, longest_run_s = 0;
};

// Identifies a job array; tasks are numbered in this order.
struct TaskGroupKey {
  std::string device;
  int gpus = 0;
  std::string model;
  auto operator<=>(const TaskGroupKey&) const = default;
};

TaskGroupKey task_group_key(const Point& point) {
  TaskGroupKey key{"cpu", 0, point.model_hash.empty() ? point.model : point.model + " " + point.model_hash};
  for (const DeviceId& device : point.placement.devices) {
    if (device.kind == "cpu") continue;
    key.device = device.kind;
    key.gpus = std::max(key.gpus, device.index + 1);
  }
  return key;
}

std::string cell_key(const Point& point) {
  Point alike = point;
  alike.backend.clear();
  alike.precision = Precision::fp32;
  return content_hash(tenant_place(point) ? text_of(tenant_set_key(point)) : dump_line(point_to_json(alike)));
}

using Cells = std::vector<Cell>;

// Returns cells in the order of the Plan.
std::map<TaskGroupKey, Cells> cells_of(std::vector<Job>& plan, const std::function<double(const Job&)>& seconds) {
  std::map<TaskGroupKey, Cells> task_groups;
  std::map<TaskGroupKey, std::unordered_map<std::string, size_t>> known;  // where a task group has which cell
  std::map<std::string, TaskGroupKey> sets;                               // tenants of different networks stay together
  for (Job& job : plan) {
    TaskGroupKey key = task_group_key(job.point);
    const std::string cell = cell_key(job.point);
    if (tenant_place(job.point)) key = sets.try_emplace(cell, key).first->second;
    Cells& cells = task_groups[key];
    const auto [found, is_new] = known[key].try_emplace(cell, cells.size());
    if (is_new) cells.emplace_back();
    Cell& mine = cells[found->second];
    const double one = job.skip_reason.empty() ? seconds(job) : 0;
    mine.jobs.push_back(std::move(job));
    mine.seconds += one;
    mine.longest_run_s = std::max(mine.longest_run_s, one);
  }
  return task_groups;
}

// Returns how many tasks there would be with that length.
size_t count_tasks(const std::map<TaskGroupKey, Cells>& task_groups, double task_s) {
  size_t count = 0;
  for (const auto& [key, cells] : task_groups) {
    double filled = 0;
    bool open = false;
    for (const Cell& cell : cells) {
      if (open && filled + cell.seconds > task_s) open = false;
      if (!open) {
        ++count;
        filled = 0;
        open = true;
      }
      filled += cell.seconds;
    }
  }
  return count;
}

double task_length(const std::map<TaskGroupKey, Cells>& task_groups, const CutSettings& settings, size_t kinds) {
  double length = settings.task_s;
  const size_t most = settings.most_tasks <= 0 ? 0 : std::max<size_t>(static_cast<size_t>(settings.most_tasks) / kinds, task_groups.size());
  while (most > 0 && count_tasks(task_groups, length) > most) length *= 1.1;
  return length;
}

// Returns whether the Job's throughput shows how fast a node is, whatever else is measured there.
bool may_be_common(const Job& job) {
  return job.skip_reason.empty() && scenario_traits(job.point.scenario).takes_all && !tenant_place(job.point) &&
         !contender_place(job.point);
}

class Cutter {
 public:
  using Seconds = std::function<double(const Job&)>;
  Cutter(Fleet& fleet, double task_s, const CutSettings& settings, const Seconds& seconds)
      : fleet_(fleet), task_s_(task_s), settings_(settings), seconds_(seconds) {}

  void add_group(int kind, const TaskGroupKey& key, Cells cells) {
    TaskGroup task_group{kind, cells.front().jobs.front().point.model, key.device, key.gpus};
    task_group.first_task = static_cast<int>(fleet_.tasks.size());
    bool open = false;
    for (Cell& cell : cells) {
      if (open && fleet_.tasks.back().seconds + cell.seconds > task_s_) open = false;
      if (!open) {
        fleet_.tasks.push_back({static_cast<int>(fleet_.task_groups.size())});
        jobs.emplace_back();
        open = true;
      }
      FleetTask& task = fleet_.tasks.back();
      task.seconds += cell.seconds;
      task.records += static_cast<int64_t>(cell.jobs.size());
      std::move(cell.jobs.begin(), cell.jobs.end(), std::back_inserter(jobs.back()));
      task_group.longest_s = std::max(task_group.longest_s, task.seconds);
      task_group.longest_run_s = std::max(task_group.longest_run_s, cell.longest_run_s);
      task_group.seconds += cell.seconds;
    }
    task_group.tasks = static_cast<int>(fleet_.tasks.size()) - task_group.first_task;
    if (settings_.common_runs > 0 && task_group.tasks >= fewest_tasks) add_common(task_group);
    fleet_.task_groups.push_back(std::move(task_group));
  }

  std::vector<std::vector<Job>> jobs;

 private:
  static constexpr int fewest_tasks = 3;  // fewer nodes do not show which one is unlike the others

  size_t place(const TaskGroup& task_group, int task) const {
    return static_cast<size_t>(task_group.first_task) + static_cast<size_t>(task);
  }

  // The Point of which a run takes least, and how many runs of it there are.
  std::pair<std::optional<Job>, int> quickest(const TaskGroup& task_group) const {
    std::optional<Job> found;
    double least = 0;
    int repeats = 0;
    for (int task = 0; task < task_group.tasks; ++task) {
      for (const Job& job : jobs[place(task_group, task)]) {
        if (found && job.point_id == found->point_id) repeats = std::max(repeats, job.repeat + 1);
        if (!may_be_common(job)) continue;
        const double one = seconds_(job);
        if (found && one >= least) continue;
        found = job;
        least = one;
        repeats = job.repeat + 1;
      }
    }
    return {std::move(found), repeats};
  }

  void add_common(TaskGroup& task_group) {
    auto [common, repeats] = quickest(task_group);
    if (!common) return;
    task_group.common = common->point_id;
    const double one = seconds_(*common);
    for (int task = 0; task < task_group.tasks; ++task) {
      std::vector<Job>& mine = jobs[place(task_group, task)];
      const auto has = std::count_if(mine.begin(), mine.end(), [&, id = task_group.common](const Job& job) { return job.point_id == id; });
      for (auto run = static_cast<int>(has); run < settings_.common_runs; ++run) {
        common->repeat = repeats++;
        mine.push_back(*common);
        FleetTask& entry = fleet_.tasks[place(task_group, task)];
        ++entry.records;
        entry.seconds += one;
        task_group.seconds += one;
        task_group.longest_s = std::max(task_group.longest_s, entry.seconds);
      }
    }
  }

  Fleet& fleet_;
  double task_s_;
  const CutSettings& settings_;
  const Seconds& seconds_;
};

}  // namespace

std::vector<std::vector<Job>> cut_plan(Fleet& fleet, std::vector<Job> plan, const CutSettings& settings,
                                       const std::function<double(const Job&)>& seconds) {
  std::map<TaskGroupKey, Cells> task_groups = cells_of(plan, seconds);
  Cutter cutter(fleet, task_length(task_groups, settings, fleet.kinds.size()), settings, seconds);
  for (size_t kind = 0; kind < fleet.kinds.size(); ++kind) {
    const bool last = kind + 1 == fleet.kinds.size();  // a large Plan is copied as seldom as can be
    for (auto& [key, cells] : task_groups) cutter.add_group(static_cast<int>(kind), key, last ? std::move(cells) : cells);
  }
  return std::move(cutter.jobs);
}

}  // namespace deepgap
