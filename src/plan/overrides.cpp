// Flags on top of a Study.
#include "plan/study.h"

#include "plan/place.h"
#include "plan/point_fields.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

void check_overrides(const Overrides& o) {
  const int rules = int{o.iterations.has_value()} + int{o.duration.has_value()} + int{o.interval.has_value()};
  if (rules > 1) fail("--iterations, --duration and --interval each end a run: give one of them");
  if (o.repeats && *o.repeats < 1) fail(fmt::format("invalid value '{}' for --repeats: expected at least 1", *o.repeats));
  if (o.sweeps && *o.sweeps < 1) fail(fmt::format("invalid value '{}' for --sweeps: expected at least 1", *o.sweeps));
  if (o.warmup && *o.warmup < 0) fail(fmt::format("invalid value '{}' for --warmup: expected at least 0", *o.warmup));
  if (o.iterations && *o.iterations < 1) fail(fmt::format("invalid value '{}' for --iterations: expected at least 1", *o.iterations));
  if (o.duration && *o.duration <= 0) fail("invalid value for --duration: expected a time above 0, such as 8s");
  if (o.budget && *o.budget <= 0) fail("invalid value for --budget: expected a time above 0, such as 30s");
  if (o.min_duration && *o.min_duration <= 0) fail("invalid value for --min-duration: expected a time above 0, such as 500ms");
  if (o.interval && !(*o.interval > 0 && *o.interval < 1))
    fail("invalid value for --interval: expected a percentage above 0 % and below 100 %, such as 1%");
  if (o.margin && !(*o.margin > 0 && *o.margin < 1))
    fail("invalid value for --margin: expected a percentage above 0 % and below 100 %, such as 2%");
  if (o.target && !parse_target(*o.target))
    fail(fmt::format("invalid value '{}' for --percentile: expected throughput or a percentile such as p99", *o.target));
}

void apply(StoppingSettings& stopping, const Overrides& o) {
  if (o.warmup) stopping.warmup = o.warmup;
  if (o.budget) stopping.budget = *o.budget;
  if (o.target) stopping.target = *parse_target(*o.target);
  if (o.iterations || o.duration || o.interval) {
    const bool has_least = stopping.name != "duration" && !o.duration;
    stopping.name = o.iterations ? "counts" : o.duration ? "duration" : "interval";
    stopping.iterations = o.iterations;
    if (!has_least) stopping.duration = o.duration;
    if (o.interval) stopping.interval = *o.interval;
  }
  if (o.min_duration) set_min_duration(stopping, *o.min_duration);
  if (o.energy) lengthen_for_energy(stopping);
}

void apply(Grid& grid, const Overrides& o) {
  for (const Axis& axis : o.axes) set_axis(grid.axes, axis);
  if (!o.tenants.empty()) grid.tenants = o.tenants;
  if (o.duel) grid.duel = *o.duel;
  if (o.energy && !grid.duel.empty()) fail("--energy measures in a window of its own: leave out --energy or --duel");
  if (o.margin) grid.margin = *o.margin;
  grid.own_budget = grid.own_budget || o.budget.has_value();
  if (o.sweeps) grid.sweeps = *o.sweeps;
  if (o.repeats) {
    grid.repeats = *o.repeats;
    grid.own_repeats = true;
  } else if (!grid.own_repeats && !grid.place.empty()) {
    grid.repeats = usual_repeats(grid);  // a flag may have made it a duel
  }
  if (o.check) grid.check = *o.check;
  apply(grid.stopping, o);
}

}  // namespace

int usual_repeats(const Grid& grid) {
  constexpr int enough_to_compare = 5;
  const bool own_way = !grid.duel.empty() || grid.find_peak || grid.sweeps > 1 || find_axis(grid.axes, "mlperf") != nullptr;
  return grid.place.empty() || own_way ? 1 : enough_to_compare;
}

bool fix_window(StoppingSettings& stopping, Nanoseconds otherwise) {
  const StoppingSettings unasked;
  const bool asked = stopping.name != unasked.name || stopping.interval != unasked.interval || stopping.target != unasked.target;
  if (asked && stopping.name != "duration") return false;
  stopping.name = "duration";
  if (!stopping.duration) stopping.duration = otherwise;
  return true;
}

void set_min_duration(StoppingSettings& stopping, Nanoseconds least) {
  const Nanoseconds own = stopping.name == "duration" ? stopping.duration.value_or(0) : 0;
  stopping.duration = std::max(own, least);
}

void lengthen_for_energy(StoppingSettings& stopping) {
  constexpr Nanoseconds energy_window = 10'000'000'000;
  stopping.duration = std::max(stopping.duration.value_or(0), energy_window);
}

void apply_overrides(Study& study, const Overrides& overrides) {
  check_overrides(overrides);
  std::set<std::string> names;
  for (const Axis& axis : overrides.axes) {
    if (axis.values.empty()) fail(fmt::format("axis {} has no value", axis.name));
    if (!names.insert(axis.name).second) fail(fmt::format("axis {} is given twice", axis.name));
    for (size_t v = 0; v < axis.values.size(); ++v) {
      Point ignored;
      try {
        set_on_point(ignored, axis.name, axis.values[v], 1);
      } catch (const Error& error) {
        throw Error(error.kind(), at_place(v < axis.places.size() ? axis.places[v] : "", error.what()));
      }
    }
  }
  if (study.grids.empty()) study.grids.emplace_back();
  for (Grid& grid : study.grids) apply(grid, overrides);
}

}  // namespace deepgap
