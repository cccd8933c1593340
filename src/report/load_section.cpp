// Shows the distribution of latencies if load was offered by a schedule or there was an SLO: the share of queries that took longer, on
// logarithmic axes, so that the tail can be read. Invalid points are drawn too: that is where one looks for the reason.
#include "record/verdict.h"
#include "report/chart.h"
#include "report/load_curves.h"
#include "report/sections.h"

#include "analysis/words.h"
#include "record/latency_percentiles.h"
#include "record/load_axis.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

bool has_load(const PointSummary& point) {
  return point.outcome == Outcome::ok &&
         (point.find("offered_rate") != nullptr || point.point.options.count("bound") > 0 || load_of(point.point).has_value());
}

std::string tip(const std::string& label, const char* name, double value, const PointSummary& point) {
  return fmt::format("{}\n{} latency {} ms{}", label, name, format_significant(value),
                     point.verdict == Verdict::valid ? "" : "\n" + point.reason);
}

ChartLine tail_line(const Line& line, const PointSummary& point, int style) {
  ChartLine chart_line{label_with_batch(line, point), style, false, {}, point.point.backend, std::string(name_of(point.point.precision))};
  for (const NamedPercentile& p : latency_percentiles) {
    const MetricSummary* found = point.find(latency_metric_id(p.name));
    // Beyond the last rank that the queries have, a percentile is only the longest latency again.
    if (found == nullptr || static_cast<double>(found->estimate.n) * (100 - p.percent) < 100) continue;
    ChartPoint chart_point;
    chart_point.x = found->estimate.value;
    chart_point.y = 1 - p.percent / 100;
    chart_point.hollow = !is_sound(point.verdict);
    chart_point.tip = tip(chart_line.label, p.name, found->estimate.value, point);
    chart_line.points.push_back(chart_point);
  }
  return chart_line;
}

WorkloadPictures pictures_of(const Workload& workload) {
  Chart chart{workload.label + ": share of queries against latency",
              {"Latency (ms)", Scale::log10, {}},
              {"Share of queries that take longer", Scale::log10, {}},
              {}};
  size_t left_out = 0;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      if (!has_load(*point) || is_peak_run(*point)) continue;
      ChartLine tail = tail_line(line, *point, static_cast<int>(chart.lines.size()));
      if (tail.points.empty()) continue;
      if (chart.lines.size() == report_caps.lines) {
        ++left_out;
      } else {
        chart.lines.push_back(std::move(tail));
      }
    }
  }
  std::vector<std::string> labels;
  for (const ChartLine& line : chart.lines) labels.push_back(line.label);
  labels = labels_apart(labels);
  for (size_t i = 0; i < labels.size(); ++i) chart.lines[i].label = labels[i];
  return {load_curves(workload) + chart_figure("Latency", "down and to the left is better; hollow: not valid", chart), left_out};
}

}  // namespace

std::string load_section(const View& view) {
  if (std::none_of(view.results.points.begin(), view.results.points.end(), has_load)) return {};
  const std::string html =
      "<section id=\"load\"><h2>Load</h2><p class=\"aside\">Latency counts from the moment a query was due. A point with a latency "
      "SLO is valid or invalid; the reason is in the summary and beside its row.</p>";
  return html + drawn_workloads(view, pictures_of) + "</section>";
}

}  // namespace deepgap
