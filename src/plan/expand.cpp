// From a Study to its Jobs: the product of each grid's axes, without what is skipped, each Point once.
#include "plan/point_fields.h"
#include "plan/study.h"

#include "base/text.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace deepgap {
namespace {

[[noreturn]] void fail(const Study& study, size_t grid, const std::string& cause) {
  const std::string where = study.grids.size() > 1 ? fmt::format("study {}, grid {}", study.name, grid + 1) : "study " + study.name;
  throw Error(ErrorKind::usage, study.name == "flags" ? cause : fmt::format("{}: {}", where, cause));
}

// A Point with the settings that it is to be measured with.
struct Planned {
  Point point;
  const Grid* grid = nullptr;
  std::string skip_reason;
  bool check = true;
  int total_repeats() const { return grid->repeats * grid->sweeps; }
};

void check_axes(const Study& study, size_t number) {
  const Grid& grid = study.grids[number];
  std::vector<std::string> options;
  bool has_model = false;
  for (const Axis& axis : grid.axes) {
    if (axis.values.empty()) fail(study, number, fmt::format("axis {} has no value", axis.name));
    const auto same = [&](const Axis& other) { return other.name == axis.name; };
    if (std::count_if(grid.axes.begin(), grid.axes.end(), same) > 1) fail(study, number, fmt::format("axis {} is there twice", axis.name));
    if (!is_point_field(axis.name)) options.push_back(axis.name);
    has_model = has_model || axis.name == "model";
  }
  if (!has_model) fail(study, number, "no model; give --model NAME or a key `model` (deepgap models lists them)");
  for (const SkipRule& rule : grid.skips) {
    for (const Condition& condition : rule.conditions) check_condition(condition, options);
  }
}

int64_t product(const Study& study, size_t number) {
  const Grid& grid = study.grids[number];
  int64_t count = int64_t{grid.repeats} * grid.sweeps;
  for (const Axis& axis : grid.axes) {
    if (__builtin_mul_overflow(count, static_cast<int64_t>(axis.values.size()), &count)) count = most_jobs + 1;
    if (count > most_jobs) fail(study, number, fmt::format("more than {} runs (points times repeats); make axes shorter", most_jobs));
  }
  return count;
}

const SkipRule* find_skip(const Grid& grid, const Point& point, int cpus) {
  const auto applies = [&](const SkipRule& rule) {
    return std::all_of(rule.conditions.begin(), rule.conditions.end(), [&](const Condition& c) { return holds(c, point, cpus); });
  };
  const auto found = std::find_if(grid.skips.begin(), grid.skips.end(), applies);
  return found == grid.skips.end() ? nullptr : &*found;
}

// Counts through the axes like an odometer; the last one turns fastest.
template <typename Visit>
void each_point(const Grid& grid, int cpus, const Visit& visit) {
  std::vector<size_t> position(grid.axes.size(), 0);
  for (;;) {
    Point point;
    point.threads = cpus;
    for (size_t i = 0; i < position.size(); ++i) set_on_point(point, grid.axes[i].name, grid.axes[i].values[position[i]], cpus);
    visit(std::move(point));
    size_t i = position.size();
    while (i > 0 && ++position[i - 1] == grid.axes[i - 1].values.size()) position[--i] = 0;
    if (i == 0) return;
  }
}

class PointList {
 public:
  void add(Planned planned) {
    const auto [entry, is_new] = index_.try_emplace(point_id(planned.point), points_.size());
    if (is_new) {
      ids_.push_back(entry->first);
      points_.push_back(std::move(planned));
      return;
    }
    ++doubled_;
    Planned& known = points_[entry->second];
    const bool check = known.check || planned.check;
    // What one grid measures is measured, though another one skips it.
    const bool better = known.skip_reason.empty() == planned.skip_reason.empty() ? planned.total_repeats() > known.total_repeats()
                                                                                 : planned.skip_reason.empty();
    if (better) known = std::move(planned);
    known.check = check;
  }
  size_t doubled() const { return doubled_; }
  std::vector<Job> jobs() const {
    std::vector<Job> jobs;
    for (size_t i = 0; i < points_.size(); ++i) {
      const Planned& planned = points_[i];
      const int repeats = planned.total_repeats();
      for (int repeat = 0; repeat < repeats; ++repeat) {
        jobs.push_back(
            {planned.point, ids_[i], repeat, repeat / planned.grid->repeats, planned.grid->stopping, planned.check, planned.skip_reason});
      }
    }
    return jobs;
  }

 private:
  std::vector<Planned> points_;
  std::vector<std::string> ids_;
  std::unordered_map<std::string, size_t> index_;
  size_t doubled_ = 0;
};

void add_grid(const Study& study, size_t number, int cpus, PointList& points) {
  const Grid& grid = study.grids[number];
  try {
    each_point(grid, cpus, [&](Point&& point) {
      const SkipRule* skip = find_skip(grid, point, cpus);
      if (skip != nullptr && skip->reason.empty()) return;
      points.add({std::move(point), &grid, skip == nullptr ? "" : skip->reason, grid.check});
    });
  } catch (const Error& error) {
    fail(study, number, error.what());
  }
}

}  // namespace

std::vector<Job> expand(const Study& study, int cpus, std::vector<std::string>* notes) {
  int64_t total = 0;
  for (size_t i = 0; i < study.grids.size(); ++i) {
    check_axes(study, i);
    total += product(study, i);
    if (total > most_jobs) fail(study, i, fmt::format("more than {} runs (points times repeats); make axes shorter", most_jobs));
  }
  PointList points;
  for (size_t i = 0; i < study.grids.size(); ++i) add_grid(study, i, cpus, points);
  if (points.doubled() > 0 && notes != nullptr) {
    notes->push_back(fmt::format("{} point{} named more than once: each is measured once, as the grid that asks for most repeats says",
                                 points.doubled(), points.doubled() == 1 ? " is" : "s are"));
  }
  std::vector<Job> jobs = points.jobs();
  if (jobs.empty())
    throw Error(ErrorKind::usage, fmt::format("study {}: nothing to measure; its skip rules leave out every point", study.name));
  return jobs;
}

}  // namespace deepgap
