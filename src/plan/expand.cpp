// Expands a Study into its Jobs: the product of each grid's axes, without what is skipped, each Point once.
#include "plan/conflicts.h"
#include "plan/duels.h"
#include "plan/place.h"
#include "plan/point_fields.h"
#include "plan/study.h"
#include "plan/tenants.h"

#include "record/record_json.h"
#include "record/tenant_set.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace deepgap {
namespace {

[[noreturn]] void fail(const Study& study, size_t grid, const std::string& cause) {
  throw Error(ErrorKind::usage, at_place(study.grids[grid].place, cause));
}

constexpr size_t most_options = 10'000;
constexpr int64_t most_looks = 20'000'000;  // at a value of an option or a condition, over all runs of a grid: seconds
constexpr Nanoseconds tenants_window = 5'000'000'000;

// A Point with the settings that it is to be measured with.
struct Planned {
  Point point;
  const Grid* grid = nullptr;
  std::string skip_reason;
  bool check = true;
  StoppingSettings stopping;
  bool own_batch = false;
  bool equal_ones_are_meant = false;  // it lost an axis that is for others, or is a tenant alone, of however many sets
  int total_repeats() const { return grid->repeats * grid->sweeps; }
};

void check_axes(const Study& study, size_t number) {
  const Grid& grid = study.grids[number];
  std::set<std::string> options, names;
  const bool has_model = !grid.tenants.empty() || find_axis(grid.axes, "model") != nullptr;  // check_tenants() looks at tenants'
  for (const Axis& axis : grid.axes) {
    if (axis.values.empty()) fail(study, number, fmt::format("axis {} has no value", axis.name));
    if (!names.insert(axis.name).second) fail(study, number, fmt::format("axis {} is there twice", axis.name));
    if (!is_point_field(axis.name)) options.insert(axis.name);
  }
  for (const TenantAxes& tenant : grid.tenants) {
    for (const Axis& axis : tenant) options.insert(axis.name);
  }
  if (options.size() > most_options) fail(study, number, fmt::format("{} options; at most {} can be given", options.size(), most_options));
  if (!has_model) fail(study, number, "no model; give --model NAME or a key `model` (deepgap models lists them)");
  for (const SkipRule& rule : grid.skips) {
    for (const Condition& condition : rule.conditions) check_condition(condition, options);
  }
}

int64_t product(const Study& study, size_t number) {
  const Grid& grid = study.grids[number];
  int64_t count = int64_t{grid.repeats} * grid.sweeps;
  if (!grid.tenants.empty()) count *= static_cast<int64_t>(2 * grid.tenants.size());  // alone and together
  const std::vector<Axis> axes = axes_with_tenants(grid);
  for (const Axis& axis : axes) {
    if (__builtin_mul_overflow(count, static_cast<int64_t>(axis.values.size()), &count)) count = most_jobs + 1;
    if (count > most_jobs) fail(study, number, fmt::format("more than {} runs (points times repeats); make axes shorter", most_jobs));
  }
  size_t looks = axes.size();
  for (const SkipRule& rule : grid.skips) looks += rule.conditions.size();
  if (count > most_looks / static_cast<int64_t>(std::max<size_t>(looks, 1)))
    fail(study, number,
         fmt::format("{} runs with {} options and skip conditions are too many: their product is at most {}; make axes or skip "
                     "rules fewer",
                     count, looks, most_looks));
  return count;
}

const SkipRule* find_skip(const Grid& grid, const Point& point, int cpus) {
  const auto applies = [&](const SkipRule& rule) {
    return std::all_of(rule.conditions.begin(), rule.conditions.end(), [&](const Condition& c) { return holds(c, point, cpus); });
  };
  const auto found = std::find_if(grid.skips.begin(), grid.skips.end(), applies);
  return found == grid.skips.end() ? nullptr : &*found;
}

// Visits every choice of a value for each axis, counting through them like an odometer; the last one turns fastest.
template <typename Visit>
void each_choice(const std::vector<Axis>& axes, const Visit& visit) {
  std::vector<size_t> position(axes.size(), 0);
  for (;;) {
    std::vector<std::string> choice;
    for (size_t i = 0; i < axes.size(); ++i) choice.push_back(axes[i].values[position[i]]);
    visit(choice);
    size_t i = position.size();
    while (i > 0 && ++position[i - 1] == axes[i - 1].values.size()) position[--i] = 0;
    if (i == 0) return;
  }
}

Point point_of_choice(const std::vector<Axis>& axes, const std::vector<std::string>& choice, int cpus) {
  Point point;
  point.threads = cpus;
  for (size_t i = 0; i < axes.size(); ++i) set_on_point(point, axes[i].name, choice[i], cpus);
  return point;
}

// Returns whether the rule ends by the interval and nobody said how long the window is at least.
bool has_own_window(const StoppingSettings& stopping) { return stopping.name == "interval" && !stopping.duration; }

// Sets that window: 10 s over the repeats of a Point together, since what lasts for seconds is to be in it, but at least 2 s each and no
// longer than the budget.
StoppingSettings with_default_window(StoppingSettings stopping, int repeats) {
  constexpr Nanoseconds together = 10'000'000'000, least = 2'000'000'000;
  if (!has_own_window(stopping)) return stopping;
  stopping.duration = std::min(stopping.budget, std::max(least, together / repeats));
  return stopping;
}

// Contenders and tenants are sets of their own, searches vary the load, and an MLPerf run ends by its own rules.
bool interleaves(const Grid& grid) {
  return grid.interleave && grid.duel.empty() && grid.tenants.empty() && !grid.find_peak && find_axis(grid.axes, "mlperf") == nullptr;
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
    if (!planned.equal_ones_are_meant) ++named_again_;
    Planned& known = points_[entry->second];
    const bool check = known.check || planned.check;
    // A Point that one grid measures is measured, though another one skips it.
    const bool better = known.skip_reason.empty() == planned.skip_reason.empty() ? planned.total_repeats() > known.total_repeats()
                                                                                 : planned.skip_reason.empty();
    if (better) known = std::move(planned);
    known.check = check;
  }
  size_t named_again() const { return named_again_; }
  // The list is empty then: of a large Plan every Point is kept once.
  std::vector<Job> take_jobs() {
    std::vector<Job> jobs;
    for (size_t i = 0; i < points_.size(); ++i) {
      Planned& planned = points_[i];
      const int repeats = planned.total_repeats();
      const StoppingSettings stopping = with_default_window(planned.stopping, repeats);
      for (int repeat = 0; repeat < repeats; ++repeat) {
        jobs.push_back({repeat + 1 < repeats ? planned.point : std::move(planned.point),
                        ids_[i],
                        repeat,
                        repeat / planned.grid->repeats,
                        stopping,
                        planned.check,
                        planned.skip_reason,
                        {},
                        planned.own_batch,
                        interleaves(*planned.grid),
                        planned.grid->energy,
                        has_own_window(planned.stopping)});
      }
    }
    return jobs;
  }

 private:
  std::vector<Planned> points_;
  std::vector<std::string> ids_;
  std::unordered_map<std::string, size_t> index_;
  size_t named_again_ = 0;
};

bool gives_batch(const Grid& grid) {
  const auto has_batch = [](const std::vector<Axis>& axes) { return find_axis(axes, "batch") != nullptr; };
  return has_batch(grid.axes) || std::any_of(grid.tenants.begin(), grid.tenants.end(), has_batch);
}

void add_point(const Grid& grid, Point point, const SkipRule* skip, const StoppingSettings& stopping, PointList& points,
               bool is_tenant_alone = false) {
  if (skip != nullptr && skip->reason.empty()) return;
  const bool equal_ones_are_meant = leave_out_what_is_for_others(point) || is_tenant_alone;
  points.add(
      {std::move(point), &grid, skip == nullptr ? "" : skip->reason, grid.check, stopping, !gives_batch(grid), equal_ones_are_meant});
}

void add_points(const Grid& grid, int cpus, PointList& points) {
  each_choice(grid.axes, [&](const std::vector<std::string>& choice) {
    Point point = point_of_choice(grid.axes, choice, cpus);
    const SkipRule* skip = find_skip(grid, point, cpus);
    add_point(grid, std::move(point), skip, grid.stopping, points);
  });
}

// Each tenant alone, then all of them together; a rule that leaves out one of them leaves out the set.
void add_tenants(const Grid& grid, int cpus, PointList& points) {
  StoppingSettings stopping = grid.stopping;
  fix_window(stopping, tenants_window);
  each_choice(axes_with_tenants(grid), [&](const std::vector<std::string>& choice) {
    const std::vector<Point> tenants = tenants_of_choice(grid, choice, cpus);
    const SkipRule* skip = nullptr;
    for (const Point& tenant : tenants) {
      if (skip == nullptr) skip = find_skip(grid, tenant, cpus);
    }
    for (const Point& tenant : tenants) add_point(grid, without_tenants(tenant), find_skip(grid, tenant, cpus), stopping, points, true);
    for (const Point& tenant : tenants) add_point(grid, tenant, skip, stopping, points);
  });
}

// All contenders together; a rule that leaves out one of them leaves out the duel.
void add_duels(const Grid& grid, int cpus, PointList& points) {
  const Axis& contenders = *find_axis(grid.axes, grid.duel);
  std::vector<Axis> others = grid.axes;
  std::erase_if(others, [&](const Axis& axis) { return axis.name == grid.duel; });
  each_choice(others, [&](const std::vector<std::string>& choice) {
    const std::vector<Point> duel = contenders_of_choice(others, choice, contenders, cpus);
    const SkipRule* skip = nullptr;
    for (const Point& contender : duel) {
      if (skip == nullptr) skip = find_skip(grid, contender, cpus);
    }
    for (const Point& contender : duel) add_point(grid, contender, skip, duel_stopping(grid), points);
  });
}

void add_grid(const Study& study, size_t number, int cpus, PointList& points) {
  const Grid& grid = study.grids[number];
  try {
    check_tenants(grid);
    check_duel(grid);
    if (!grid.duel.empty()) {
      add_duels(grid, cpus, points);
    } else {
      grid.tenants.empty() ? add_points(grid, cpus, points) : add_tenants(grid, cpus, points);
    }
  } catch (const Error& error) {
    fail(study, number, error.what());
  }
}

}  // namespace

std::vector<Job> expand(const Study& study, int cpus, std::vector<std::string>* notes) {
  int64_t total = 0;
  for (size_t i = 0; i < study.grids.size(); ++i) {
    check_axes(study, i);
    refuse_conflicts(study.grids[i]);
    total += product(study, i);
    if (total > most_jobs) fail(study, i, fmt::format("more than {} runs (points times repeats); make axes shorter", most_jobs));
  }
  PointList points;
  for (size_t i = 0; i < study.grids.size(); ++i) add_grid(study, i, cpus, points);
  if (points.named_again() > 0 && notes != nullptr) {
    notes->push_back(fmt::format("{} point{} named more than once: each is measured once, as the grid that asks for most repeats says",
                                 points.named_again(), points.named_again() == 1 ? " is" : "s are"));
  }
  std::vector<Job> jobs = points.take_jobs();
  if (jobs.empty())
    throw Error(ErrorKind::usage, fmt::format("study {}: nothing to measure; its skip rules leave out every point", study.name));
  return jobs;
}

}  // namespace deepgap
