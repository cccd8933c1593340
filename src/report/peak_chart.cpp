#include "report/peak_chart.h"

#include "analysis/words.h"
#include "record/latency_percentiles.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "report/chart.h"
#include "report/html.h"
#include "stats/latency_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

struct Measured {
  const PointSummary* point;
  double load;
  bool confirms, held;
};
using Search = std::vector<Measured>;

std::map<Point, Search> searches_of(const Workload& workload) {
  std::map<Point, Search> searches;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      const auto load = load_of(point->point);
      if (!is_peak_run(*point) || !load) continue;
      Point key = without_load(point->point);
      key.options.erase("peak");
      const auto missed = [](const OutcomeCount& seen) { return seen.outcome != Outcome::ok || seen.verdict == Verdict::invalid; };
      const bool held = std::none_of(point->outcomes.begin(), point->outcomes.end(), missed);
      searches[key].push_back({point, *load, option_of(point->point, "peak") == "confirm" && point->records > 1, held});
    }
  }
  return searches;
}

std::string figure(const Point& key, Search& search) {
  const auto bound = latency_bound_from(option_of(key, "bound"));
  const std::string metric = bound ? latency_metric_id(bound->percent) : "";
  if (metric.empty()) return {};
  const std::string name = percentile_name(*bound);
  std::sort(search.begin(), search.end(), [](const Measured& a, const Measured& b) { return a.load < b.load; });
  const auto knee = std::find_if(search.rbegin(), search.rend(), [](const Measured& m) { return m.confirms && m.held; });
  const std::string unit = load_axis(key.scenario)->unit;
  ChartLine curve{name, 0, false, {}}, limit{"bound", 0, true, {}};
  for (auto it = search.begin(); it != search.end(); ++it) {
    const MetricSummary* latency = it->point->find(metric);
    if (latency == nullptr) continue;
    ChartPoint point;
    point.x = it->load;
    point.y = latency->estimate.value;
    point.y_low = latency->estimate.low;
    point.y_high = latency->estimate.high;
    point.hollow = !it->held;
    point.tip = fmt::format("{} {}\n{} {} ms\n{}", format_significant(it->load), unit, name, format_significant(point.y),
                            it->held ? "held" : it->point->reason);
    if (knee != search.rend() && &*knee == &*it) point.tag = "peak " + format_significant(it->load);
    curve.points.push_back(std::move(point));
  }
  if (curve.points.empty()) return {};
  for (const double x : {curve.points.front().x, curve.points.back().x}) {
    ChartPoint point;
    point.x = x;
    point.y = static_cast<double>(bound->limit) / 1e6;
    limit.points.push_back(point);
  }
  const Chart chart{fmt::format("{} latency against {}", name, unit),
                    {"Load (" + unit + ")", Scale::log10, {}},
                    {name + " latency (ms)", Scale::log10, {}},
                    {curve, limit}};
  return fmt::format(
      "<figure><figcaption><b>{} latency against load</b><span>{} {}; dotted: the bound {}; hollow: a run missed "
      "it</span></figcaption>{}</figure>",
      html_escaped(name), html_escaped(key.backend), html_escaped(key.precision), html_escaped(option_of(key, "bound")), chart_svg(chart));
}

}  // namespace

bool is_peak_run(const PointSummary& point) { return point.outcome == Outcome::ok && point.point.options.contains("peak"); }

std::string peak_charts(const Workload& workload) {
  std::string html;
  for (auto& [key, search] : searches_of(workload)) html += figure(key, search);
  return html;
}

}  // namespace deepgap
