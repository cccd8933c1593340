#include "cli/peak_study.h"

#include "base/quantity.h"
#include "base/text.h"
#include "plan/conflicts.h"
#include "record/latency_percentiles.h"
#include "scenario/scenario.h"
#include "stats/latency_bound.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds default_window = 10'000'000'000;

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, "--find-peak " + cause); }

const std::string& only_value(const Grid& grid, const std::string& axis, const std::string& example) {
  const Axis* found = find_axis(grid.axes, axis);
  const std::string flag = axis == "bound" ? "slo" : axis;
  if (found == nullptr) fail(fmt::format("needs --{0}: give one such as --{0} {1}", flag, example));
  if (found->values.size() != 1) fail(fmt::format("searches with one {}: {} are given", axis, found->values.size()));
  return found->values.front();
}

LoadAxis axis_of(const std::string& scenario) {
  if (const auto axis = load_axis(scenario)) return *axis;
  std::vector<std::string> others = Registry<Scenario>::instance().names();
  std::erase_if(others, [](const std::string& name) { return !load_axis(name); });
  fail(fmt::format("has no load to vary in scenario {}; use {}", scenario, join(others, ", ")));
}

// The window of each run. Rules that look at the numbers end runs at different lengths, so that verdicts could not be compared.
Nanoseconds set_window(StoppingSettings& stopping) {
  fix_window(stopping, default_window);
  stopping.budget = StoppingSettings{}.budget;  // --budget is that of the whole search, and does not change what a run is
  return *stopping.duration;
}

// Uses the shortest window that can decide: half as many queries again as the percentile needs, because arrivals are random.
void set_loads(PeakSettings& settings, const LoadAxis& axis, const LatencyBound& bound, Nanoseconds window, const PeakFlags& flags) {
  settings.ratio = flags.ratio;
  settings.interval = flags.interval;
  settings.allowed_share = 1 - bound.percent / 100;
  settings.whole = axis.name != "rate";
  if (settings.whole && flags.interval > 0) fail(fmt::format("finds whole numbers of {}: --peak-interval applies to rates", axis.unit));
  if (settings.whole) {
    settings.most = axis.name == "batch" ? 65'536 : 1'000'000;
    if (axis.name == "batch") settings.lowest = 2;  // multi-stream is of several samples
  } else {
    settings.lowest = 1.5 * static_cast<double>(fewest_queries(bound)) * 1e9 / static_cast<double>(window);
  }
  settings.from = flags.from.value_or(settings.whole ? settings.lowest : 2 * settings.lowest);
  if (settings.whole && settings.from != std::floor(settings.from))
    fail(fmt::format("searches whole numbers of {}: --peak-from", axis.unit));
  if (!(settings.from >= settings.lowest && settings.from <= settings.most)) {
    fail(fmt::format("from {:.6g} {}: a window of {} can test loads from {:.6g} to {:.6g}; change --peak-from or --duration", settings.from,
                     axis.unit, format_duration(window), settings.lowest, settings.most));
  }
}

// A search that cannot end with an answer is not begun. What its runs take besides their windows is not known yet: about as much again.
void check_budget(const PeakOrder& order, Nanoseconds window) {
  const Nanoseconds least = least_peak_budget(order, window);
  if (order.budget == 0 || order.budget >= least) return;
  const auto seconds = [](Nanoseconds time) { return static_cast<int64_t>(std::ceil(static_cast<double>(time) / 1e9)); };
  fail(fmt::format("cannot answer within --budget {}: its shortest runs alone take {} s; give --budget {}s or more{}",
                   format_duration(order.budget), seconds(least), seconds(3 * least), order.own_window ? ", or a shorter --duration" : ""));
}

// Returns, out of several bounds, the one whose percentile needs the most queries.
LatencyBound most_demanding(const std::vector<LatencyBound>& bounds) {
  return *std::max_element(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) { return a.percent < b.percent; });
}

PeakOrder prepare_grid(Grid& grid, const PeakFlags& flags) {
  if (!grid.own_repeats && !grid.place.empty()) grid.repeats = 1;  // those of a file whose grid a flag makes a search
  Grid search = grid;
  search.find_peak = true;
  refuse_conflicts(search);
  PeakOrder order;
  order.axis = axis_of(only_value(grid, "scenario", "server"));
  const std::string bounds_text = only_value(grid, "bound", "p99=15ms");
  const LatencyBound bound = most_demanding(parse_latency_bounds(bounds_text));
  if (find_axis(grid.axes, order.axis.name) != nullptr)
    fail(fmt::format("chooses {} itself: leave it out; --peak-from sets the start", order.axis.name));
  order.bound = bounds_text;
  order.limit_ms = static_cast<double>(bound.limit) / 1e6;
  order.percentile_id =
      bound.metric == "latency" ? latency_metric_id(bound.percent) : fmt::format("{}_p{:g}_ms", bound.metric, bound.percent);
  order.decided_by = fewest_queries(bound);
  const bool own_window = grid.stopping.duration.has_value();
  const Nanoseconds window = set_window(grid.stopping);
  set_loads(order.settings, order.axis, bound, window, flags);
  order.own_window = own_window;
  order.budget = flags.budget.value_or(0);
  if (!flags.resumes) check_budget(order, window);
  grid.axes.push_back({order.axis.name, {fmt::format("{:.6g}", order.settings.from)}});
  grid.axes.push_back({"peak", {"search"}});
  return order;
}

}  // namespace

PeakOrder prepare_peak_search(Study& study, const PeakFlags& flags) {
  if (study.grids.size() != 1) fail(fmt::format("searches in one grid; {} has {}", study.name, study.grids.size()));
  if (!(flags.ratio >= 0.001 && flags.ratio <= 0.5))
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for --peak-ratio: expected 0.1 % to 50 %, such as 2%", percent_text(flags.ratio)));
  if (flags.interval != 0 && !(flags.interval >= 0.001 && flags.interval <= 0.5))
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for --peak-interval: expected 0.1 % to 50 %, such as 2%", percent_text(flags.interval)));
  return prepare_grid(study.grids.front(), flags);
}

}  // namespace deepgap
