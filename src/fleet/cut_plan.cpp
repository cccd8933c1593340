#include "fleet/cut_plan.h"

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
struct LotKey {
  std::string device;
  int gpus = 0;
  std::string model;
  auto operator<=>(const LotKey&) const = default;
};

LotKey lot_key(const Point& point) {
  LotKey key{"cpu", 0, point.model_hash.empty() ? point.model : point.model + " " + point.model_hash};
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
  return content_hash(tenant_place(point) ? text_of(tenant_set_key(point)) : point_to_json(alike).dump());
}

using Cells = std::vector<Cell>;

// Returns cells in the order of the Plan.
std::map<LotKey, Cells> cells_of(std::vector<Job>& plan, const std::function<double(const Job&)>& seconds) {
  std::map<LotKey, Cells> lots;
  std::map<LotKey, std::unordered_map<std::string, size_t>> known;  // where a lot has which cell
  std::map<std::string, LotKey> sets;                               // tenants of different networks stay together
  for (Job& job : plan) {
    LotKey key = lot_key(job.point);
    const std::string cell = cell_key(job.point);
    if (tenant_place(job.point)) key = sets.try_emplace(cell, key).first->second;
    Cells& cells = lots[key];
    const auto [found, is_new] = known[key].try_emplace(cell, cells.size());
    if (is_new) cells.emplace_back();
    Cell& mine = cells[found->second];
    const double one = job.skip_reason.empty() ? seconds(job) : 0;
    mine.jobs.push_back(std::move(job));
    mine.seconds += one;
    mine.longest_run_s = std::max(mine.longest_run_s, one);
  }
  return lots;
}

// Returns how many tasks there would be with that length.
size_t count_tasks(const std::map<LotKey, Cells>& lots, double task_s) {
  size_t count = 0;
  for (const auto& [key, cells] : lots) {
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

double task_length(const std::map<LotKey, Cells>& lots, const CutSettings& settings, size_t kinds) {
  double length = settings.task_s;
  const size_t most = settings.most_tasks <= 0 ? 0 : std::max<size_t>(static_cast<size_t>(settings.most_tasks) / kinds, lots.size());
  while (most > 0 && count_tasks(lots, length) > most) length *= 1.1;
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

  void add_lot(int kind, const LotKey& key, Cells cells) {
    Lot lot{kind, cells.front().jobs.front().point.model, key.device, key.gpus};
    lot.first_task = static_cast<int>(fleet_.tasks.size());
    bool open = false;
    for (Cell& cell : cells) {
      if (open && fleet_.tasks.back().seconds + cell.seconds > task_s_) open = false;
      if (!open) {
        fleet_.tasks.push_back({static_cast<int>(fleet_.lots.size())});
        jobs.emplace_back();
        open = true;
      }
      FleetTask& task = fleet_.tasks.back();
      task.seconds += cell.seconds;
      task.records += static_cast<int64_t>(cell.jobs.size());
      std::move(cell.jobs.begin(), cell.jobs.end(), std::back_inserter(jobs.back()));
      lot.longest_s = std::max(lot.longest_s, task.seconds);
      lot.longest_run_s = std::max(lot.longest_run_s, cell.longest_run_s);
      lot.seconds += cell.seconds;
    }
    lot.tasks = static_cast<int>(fleet_.tasks.size()) - lot.first_task;
    if (settings_.common_runs > 0 && lot.tasks >= fewest_tasks) add_common(lot);
    fleet_.lots.push_back(std::move(lot));
  }

  std::vector<std::vector<Job>> jobs;

 private:
  static constexpr int fewest_tasks = 3;  // fewer nodes do not show which one is unlike the others

  size_t place(const Lot& lot, int task) const { return static_cast<size_t>(lot.first_task) + static_cast<size_t>(task); }

  // The Point of which a run takes least, and how many runs of it there are.
  std::pair<std::optional<Job>, int> quickest(const Lot& lot) const {
    std::optional<Job> found;
    double least = 0;
    int repeats = 0;
    for (int task = 0; task < lot.tasks; ++task) {
      for (const Job& job : jobs[place(lot, task)]) {
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

  void add_common(Lot& lot) {
    auto [common, repeats] = quickest(lot);
    if (!common) return;
    lot.common = common->point_id;
    const double one = seconds_(*common);
    for (int task = 0; task < lot.tasks; ++task) {
      std::vector<Job>& mine = jobs[place(lot, task)];
      const auto has = std::count_if(mine.begin(), mine.end(), [&, id = lot.common](const Job& job) { return job.point_id == id; });
      for (auto run = static_cast<int>(has); run < settings_.common_runs; ++run) {
        common->repeat = repeats++;
        mine.push_back(*common);
        FleetTask& entry = fleet_.tasks[place(lot, task)];
        ++entry.records;
        entry.seconds += one;
        lot.seconds += one;
        lot.longest_s = std::max(lot.longest_s, entry.seconds);
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
  std::map<LotKey, Cells> lots = cells_of(plan, seconds);
  Cutter cutter(fleet, task_length(lots, settings, fleet.kinds.size()), settings, seconds);
  for (size_t kind = 0; kind < fleet.kinds.size(); ++kind) {
    const bool last = kind + 1 == fleet.kinds.size();  // a large Plan is copied as seldom as can be
    for (auto& [key, cells] : lots) cutter.add_lot(static_cast<int>(kind), key, last ? std::move(cells) : cells);
  }
  return std::move(cutter.jobs);
}

}  // namespace deepgap
