// Flags on top of a Study.
#include "plan/study.h"

#include "base/messages.h"
#include "base/text.h"
#include "plan/place.h"
#include "plan/point_fields.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

template <typename Number>
void at_least(const char* flag, const std::optional<Number>& value, int64_t least, const char* example) {
  if (value && *value < least)
    fail(invalid_value(std::to_string(*value), flag, fmt::format("a number of at least {}, such as {}", least, example)));
}

void above_zero(const char* flag, const std::optional<Nanoseconds>& time, const char* example) {
  if (time && *time <= 0) fail(invalid_value(format_duration(*time), flag, fmt::format("a time above 0, such as {}", example)));
}

void below_one(const char* flag, const std::optional<double>& fraction, const char* example) {
  if (fraction && !(*fraction > 0 && *fraction < 1))
    fail(invalid_value(fmt::format("{:g}", *fraction), flag, fmt::format("a percentage above 0 % and below 100 %, such as {}", example)));
}

void check_overrides(const Overrides& o) {
  at_least("--repeats", o.repeats, 1, "5");
  at_least("--sweeps", o.sweeps, 1, "5");
  at_least("--warmup", o.warmup, 0, "10");
  at_least("--iterations", o.iterations, 1, "100");
  above_zero("--duration", o.duration, "8s");
  above_zero("--budget", o.budget, "30s");
  above_zero("--min-duration", o.min_duration, "500ms");
  below_one("--interval", o.interval, "1%");
  below_one("--margin", o.margin, "2%");
  if (o.target && !parse_target(*o.target)) fail(invalid_value(*o.target, "--percentile", "throughput or a percentile, such as p99"));
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
  if (o.interleave) grid.interleave = *o.interleave && !grid.apart;
  grid.energy = grid.energy || o.energy;
  apply(grid.stopping, o);
}

}  // namespace

int usual_repeats(const Grid& grid) {
  constexpr int enough_to_compare = 5;
  const bool own_way = !grid.duel.empty() || grid.find_peak || grid.sweeps > 1 || find_axis(grid.axes, "mlperf") != nullptr;
  return grid.place.empty() || own_way ? 1 : enough_to_compare;
}

void fix_window(StoppingSettings& stopping, Nanoseconds otherwise) {
  stopping.name = "duration";
  if (!stopping.duration) stopping.duration = otherwise;
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
