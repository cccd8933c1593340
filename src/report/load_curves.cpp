#include "report/load_curves.h"

#include "analysis/words.h"
#include "record/latency_percentiles.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/search_marks.h"
#include "report/chart.h"
#include "stats/latency_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace deepgap {
namespace {

struct Loaded {
  const Line* line;
  const PointSummary* point;
  double load;
  bool held;  // the bound, by all runs
};

// Identifies the Points that lie on one curve.
struct Sweep {
  Point key;
  std::string device, tenant;
  bool peak_search = false;
  auto operator<=>(const Sweep&) const = default;
};
using Sweeps = std::map<Sweep, std::vector<Loaded>>;

bool all_held(const PointSummary& point) {
  const auto missed = [](const OutcomeCount& seen) {
    return seen.outcome != Outcome::ok || seen.verdict == Verdict::invalid || seen.verdict == Verdict::undecided;
  };
  return std::none_of(point.outcomes.begin(), point.outcomes.end(), missed);
}

Sweeps sweeps_of(const Workload& workload) {
  Sweeps sweeps;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      const auto load = load_of(point->point);
      if (point->outcome != Outcome::ok || !load) continue;
      const Sweep sweep{without_search_marks(without_load(point->point)), line.device, point->tenant, is_peak_run(*point)};
      sweeps[sweep].push_back({&line, point, *load, all_held(*point)});
    }
  }
  for (auto& [sweep, points] : sweeps)
    std::sort(points.begin(), points.end(), [](const Loaded& a, const Loaded& b) { return a.load < b.load; });
  std::erase_if(sweeps, [](const auto& entry) {
    const auto& [sweep, points] = entry;
    return !sweep.peak_search && points.front().load == points.back().load;
  });
  return sweeps;
}

// The largest load whose runs all held the bound; of a search only one that it confirmed can be it.
const Loaded* knee_of(const Sweep& sweep, const std::vector<Loaded>& points) {
  const auto found = std::find_if(points.rbegin(), points.rend(), [&](const Loaded& loaded) {
    return loaded.held && (!sweep.peak_search || (option_of(loaded.point->point, "peak") == "confirm" && loaded.point->records > 1));
  });
  return found == points.rend() ? nullptr : &*found;
}

// The bound's percentile, and for a sweep the middle and the tail too.
std::vector<NamedPercentile> percentiles_of(const Sweep& sweep, const std::optional<LatencyBound>& bound) {
  std::vector<NamedPercentile> drawn;
  for (const NamedPercentile& known : latency_percentiles) {
    const bool usual = known.percent == 50 || known.percent == 99;
    if ((usual && !sweep.peak_search) || (bound && bound->percent == known.percent)) drawn.push_back(known);
  }
  return drawn;
}

ChartLine curve(const std::string& percentile, const std::vector<Loaded>& points, const std::string& unit, int style) {
  ChartLine line{percentile, style, false, {}};
  for (const Loaded& loaded : points) {
    const MetricSummary* latency = loaded.point->find(latency_metric_id(percentile));
    if (latency == nullptr) continue;
    ChartPoint point;
    point.x = loaded.load;
    point.y = latency->estimate.value;
    point.y_low = latency->estimate.low;
    point.y_high = latency->estimate.high;
    point.hollow = !loaded.held;
    point.tip = fmt::format("{} {}\n{} {} ms\n{}", format_significant(loaded.load), unit, percentile, format_significant(point.y),
                            loaded.held ? "valid" : loaded.point->reason);
    line.points.push_back(std::move(point));
  }
  return line;
}

ChartLine limit_line(const LatencyBound& bound, const std::vector<Loaded>& points) {
  ChartLine line{"bound", 0, true, {}};
  for (const Loaded* end : {&points.front(), &points.back()}) {
    ChartPoint point;
    point.x = end->load;
    point.y = static_cast<double>(bound.limit) / 1e6;
    line.points.push_back(point);
  }
  return line;
}

void tag_knee(ChartLine& line, const Sweep& sweep, const Loaded& knee) {
  for (ChartPoint& point : line.points) {
    if (point.x == knee.load) point.tag = (sweep.peak_search ? "peak " : "knee ") + format_significant(knee.load);
  }
}

std::string figure(const Sweep& sweep, const std::vector<Loaded>& points) {
  const auto bound = latency_bound_from(option_of(sweep.key, "bound"));
  const std::string unit = load_axis(sweep.key.scenario)->unit;
  Chart chart{"latency against " + unit, {"Load (" + unit + ")", Scale::log10, {}}, {"Latency (ms)", Scale::log10, {}}, {}};
  const Loaded* knee = knee_of(sweep, points);
  for (const NamedPercentile& percentile : percentiles_of(sweep, bound)) {
    ChartLine line = curve(percentile.name, points, unit, static_cast<int>(chart.lines.size()));
    if (bound && percentile.percent == bound->percent && knee != nullptr) tag_knee(line, sweep, *knee);
    if (!line.points.empty()) chart.lines.push_back(std::move(line));
  }
  if (chart.lines.empty()) return {};
  std::string note = fmt::format("{}, {}", sweep.key.scenario, label_without_load(*points.front().line));
  if (bound) {
    chart.lines.push_back(limit_line(*bound, points));
    note += fmt::format("; dotted: the SLO {}; hollow: a run missed it", bound->text);
  } else {
    note += "; hollow: not valid";
  }
  return chart_figure("Latency against load", note, chart);
}

}  // namespace

bool is_peak_run(const PointSummary& point) { return point.outcome == Outcome::ok && point.point.options.contains("peak"); }

std::string load_curves(const Workload& workload) {
  std::string html;
  for (const auto& [sweep, points] : sweeps_of(workload)) html += figure(sweep, points);
  return html;
}

}  // namespace deepgap
