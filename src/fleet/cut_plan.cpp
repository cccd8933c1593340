#include "fleet/cut_plan.h"

#include "record/identity.h"
#include "record/record_json.h"
#include "record/tenant_set.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace deepgap {
namespace {

struct Cell {
  std::vector<Job> jobs;
  double seconds = 0, longest_run_s = 0;
};

// What a job array is of; in this order the tasks are numbered.
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
  return tenant_place(point) ? text_of(tenant_set_key(point)) : point_to_json(alike).dump();
}

using Cells = std::vector<Cell>;

// In the order of the Plan.
std::map<LotKey, Cells> cells_of(const std::vector<Job>& plan, const std::function<double(const Job&)>& seconds) {
  std::map<LotKey, Cells> lots;
  std::map<std::pair<LotKey, std::string>, size_t> known;
  std::map<std::string, LotKey> sets;  // tenants of different networks stay together
  for (const Job& job : plan) {
    LotKey key = lot_key(job.point);
    const std::string cell = cell_key(job.point);
    if (tenant_place(job.point)) key = sets.try_emplace(cell, key).first->second;
    Cells& cells = lots[key];
    const auto [found, is_new] = known.try_emplace({key, cell}, cells.size());
    if (is_new) cells.emplace_back();
    Cell& mine = cells[found->second];
    const double one = job.skip_reason.empty() ? seconds(job) : 0;
    mine.jobs.push_back(job);
    mine.seconds += one;
    mine.longest_run_s = std::max(mine.longest_run_s, one);
  }
  return lots;
}

// How many tasks there would be of that length.
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

class Cutter {
 public:
  Cutter(Fleet& fleet, double task_s) : fleet_(fleet), task_s_(task_s) {}

  void add_lot(int kind, const LotKey& key, const Cells& cells) {
    Lot lot{kind, cells.front().jobs.front().point.model, key.device, key.gpus};
    lot.first_task = static_cast<int>(fleet_.tasks.size());
    bool open = false;
    for (const Cell& cell : cells) {
      if (open && fleet_.tasks.back().seconds + cell.seconds > task_s_) open = false;
      if (!open) {
        fleet_.tasks.push_back({static_cast<int>(fleet_.lots.size())});
        jobs.emplace_back();
        open = true;
      }
      FleetTask& task = fleet_.tasks.back();
      task.seconds += cell.seconds;
      task.records += static_cast<int64_t>(cell.jobs.size());
      jobs.back().insert(jobs.back().end(), cell.jobs.begin(), cell.jobs.end());
      lot.longest_s = std::max(lot.longest_s, task.seconds);
      lot.longest_run_s = std::max(lot.longest_run_s, cell.longest_run_s);
      lot.seconds += cell.seconds;
    }
    lot.tasks = static_cast<int>(fleet_.tasks.size()) - lot.first_task;
    fleet_.lots.push_back(std::move(lot));
  }

  std::vector<std::vector<Job>> jobs;

 private:
  Fleet& fleet_;
  double task_s_;
};

}  // namespace

std::vector<std::vector<Job>> cut_plan(Fleet& fleet, const std::vector<Job>& plan, const CutSettings& settings,
                                       const std::function<double(const Job&)>& seconds) {
  const std::map<LotKey, Cells> lots = cells_of(plan, seconds);
  Cutter cutter(fleet, task_length(lots, settings, fleet.kinds.size()));
  for (size_t kind = 0; kind < fleet.kinds.size(); ++kind) {
    for (const auto& [key, cells] : lots) cutter.add_lot(static_cast<int>(kind), key, cells);
  }
  return std::move(cutter.jobs);
}

}  // namespace deepgap
