#include "report/front_figure.h"

#include "analysis/words.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace deepgap {
namespace {

// The metric of a goal, or one without unit and title where the goal has none.
Metric metric_of(const GoalMetric& goal) {
  const Metric* metric = find_metric(goal.metric);
  return metric == nullptr ? Metric{.id = goal.metric, .unit = "1", .describe = {}, .compute = {}} : *metric;
}

ChartPoint against(const Line& line, const PointSummary& point, const GoalMetric& x, const GoalMetric& y, const std::string& currency) {
  const Estimate &of_x = point.find(x.metric)->estimate, &of_y = point.find(y.metric)->estimate;
  ChartPoint drawn;
  drawn.x = of_x.value;
  drawn.x_low = of_x.low;
  drawn.x_high = of_x.high;
  drawn.y = of_y.value;
  drawn.y_low = of_y.low;
  drawn.y_high = of_y.high;
  drawn.tip = fmt::format("{}\n{}\n{}", label_with_batch(line, point), value_text(x, point, currency), value_text(y, point, currency));
  return drawn;
}

std::string title_of(const GoalMetric& goal) {
  const Metric metric = metric_of(goal);
  return metric.title.empty() ? metric.id : metric.title;
}

// "Energy (J an item)", "Cost of 1000 items (EUR)"
std::string axis_title(const GoalMetric& goal, const std::string& currency) {
  const Metric metric = metric_of(goal);
  const std::string unit = metric.is_money() ? unit_text(metric, currency) : unit_of_value(metric, currency);
  return unit.empty() ? title_of(goal) : fmt::format("{} ({})", title_of(goal), unit);
}

// "Throughput", "Latency": what stands in a caption.
std::string short_title(const GoalMetric& goal) {
  const std::string title = title_of(goal);
  return title.substr(0, title.find(','));
}

std::string lower_first(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

Scale spread(const Choosable& from, const std::string& metric) {
  double least = INFINITY, most = 0;
  for (const auto& [line, point] : from.points) {
    const MetricSummary* value = point->find(metric);
    if (value == nullptr) continue;
    if (!(value->estimate.value > 0)) return Scale::linear;
    least = std::min(least, value->estimate.value);
    most = std::max(most, value->estimate.value);
  }
  return scale_for(least, most, 8);
}

ChartPoint bare(ChartPoint point) {
  point.x_low = point.x_high = point.y_low = point.y_high = std::nullopt;
  return point;
}

}  // namespace

std::string value_text(const GoalMetric& goal, const PointSummary& point, const std::string& currency) {
  const ReadableValue value = readable_value(metric_of(goal), point.find(goal.metric)->estimate, currency);
  return format_estimate(value.estimate) + (value.unit.empty() ? "" : " " + value.unit);
}

std::string interval_text(const GoalMetric& goal, const PointSummary& point, const std::string& currency) {
  const MetricSummary& summary = *point.find(goal.metric);
  if (is_of_two(summary)) return format_interval(summary);
  return format_interval(readable_value(metric_of(goal), summary.estimate, currency).estimate);
}

std::string front_figure(const Workload& workload, const Choosable& from, const GoalMetric& x, const GoalMetric& y,
                         const std::string& currency) {
  const GoalMetric goals[] = {x, y};
  std::vector<const PointSummary*> points;
  std::map<const PointSummary*, const Line*> lines;
  for (const auto& [line, point] : from.points) {
    if (point->find(x.metric) == nullptr || point->find(y.metric) == nullptr) continue;
    points.push_back(point);
    lines.emplace(point, line);
  }
  if (points.size() < 3) return {};
  const std::vector<const PointSummary*> front = pareto_front(points, goals);
  std::vector<const PointSummary*> joined = front_of_values(front, goals);
  const std::set<const PointSummary*> unbeaten(front.begin(), front.end()), on_line(joined.begin(), joined.end());
  Chart chart{fmt::format("{}: {} against {}", workload.label, y.words, x.words),
              {axis_title(x, currency), spread(from, x.metric), {}},
              {axis_title(y, currency), spread(from, y.metric), {}},
              {}};
  for (const PointSummary* point : points) {
    if (on_line.contains(point) || chart.lines.size() >= report_caps.chart_points / report_caps.workloads) continue;
    chart.lines.push_back({"", unbeaten.contains(point) ? 0 : 1, true, {bare(against(*lines.at(point), *point, x, y, currency))}});
    chart.lines.back().points[0].hollow = unbeaten.contains(point);
  }
  std::stable_sort(joined.begin(), joined.end(), [&](const PointSummary* a, const PointSummary* b) {
    return a->find(x.metric)->estimate.value < b->find(x.metric)->estimate.value;
  });
  ChartLine line{"", 0, false, {}};
  for (const PointSummary* point : joined) line.points.push_back(against(*lines.at(point), *point, x, y, currency));
  chart.lines.push_back(std::move(line));
  const std::string svg = chart_svg(chart);
  if (svg.empty()) return {};
  return fmt::format(
      "<figure><figcaption><b>{} against {}</b><span>joined: no point is better in both ({} of {} points); hollow: no significant "
      "difference from these</span></figcaption>{}</figure>",
      html_escaped(short_title(y)), html_escaped(lower_first(short_title(x))), joined.size(), points.size(), svg);
}

}  // namespace deepgap
