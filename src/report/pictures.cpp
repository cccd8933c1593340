#include "report/pictures.h"

#include "analysis/one_change.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace deepgap {
namespace {

constexpr const char* throughput_id = "throughput";
constexpr const char* latency_id = "latency_p50_ms";
constexpr const char* tail_id = "latency_p99_ms";

std::string with_interval(const MetricSummary& metric, const std::string& unit) {
  const std::string interval = format_interval(metric);
  return format_estimate(metric.estimate) + " " + unit + (interval.empty() ? "" : " (" + interval + ")");
}

std::string tip(const Line& line, const PointSummary& point) {
  std::string text = fmt::format("{}, batch {}", line.label, point.point.batch);
  const auto add = [&](const char* id, const char* unit) {
    if (const auto* found = point.find(id)) text += fmt::format("\n{}", with_interval(*found, unit));
  };
  add(throughput_id, "items/s");
  add(latency_id, "ms median");
  add(tail_id, "ms 99th percentile");
  text += fmt::format("\n{}", count_of(point.used, "repeat", "repeats"));
  if (point.node_count() > 1) text += fmt::format(" on {} nodes", point.node_count());
  if (point.verdict == Verdict::unstable) text += ", unstable";
  return text;
}

std::vector<const PointSummary*> with_metric(const Line& line, const char* id) {
  std::vector<const PointSummary*> points;
  for (const PointSummary* point : line.points) {
    if (point->usable() && point->find(id) != nullptr) points.push_back(point);
  }
  return points;
}

ChartPoint against_batch(const Line& line, const PointSummary& point, const char* id) {
  const Estimate& estimate = point.find(id)->estimate;
  ChartPoint chart_point;
  chart_point.x = static_cast<double>(point.point.batch);
  chart_point.y = estimate.value;
  chart_point.y_low = estimate.low;
  chart_point.y_high = estimate.high;
  chart_point.hollow = point.verdict == Verdict::unstable;
  chart_point.tip = tip(line, point);
  return chart_point;
}

ChartLine line_against_batch(const ShownLine& shown, const char* id) {
  ChartLine line{shown.line->label, shown.style, false, {}, shown.line->key.backend, std::string(name_of(shown.line->key.precision))};
  for (const PointSummary* point : with_metric(*shown.line, id)) line.points.push_back(against_batch(*shown.line, *point, id));
  return line;
}

// Returns the batches that are drawn: a batch that was skipped or failed leaves no tick.
std::vector<double> batches(const std::vector<ShownLine>& lines, const char* id) {
  std::set<double> found;
  for (const ShownLine& shown : lines) {
    for (const PointSummary* point : with_metric(*shown.line, id)) found.insert(static_cast<double>(point->point.batch));
  }
  return {found.begin(), found.end()};
}

Scale spread_scale(const std::vector<ShownLine>& lines, const char* id, double spread) {
  double least = INFINITY, most = 0;
  for (const ShownLine& shown : lines) {
    for (const PointSummary* point : with_metric(*shown.line, id)) {
      least = std::min(least, point->find(id)->estimate.value);
      most = std::max(most, point->find(id)->estimate.value);
    }
  }
  return scale_for(least, most, spread);
}

ChartGroup throughput_picture(const Workload& workload, const std::vector<ShownLine>& lines) {
  ChartGroup picture{"Throughput against batch", "bars: 95 % interval", {}};
  picture.chart = {workload.label + ": throughput against batch",
                   {"Batch (samples a query)", Scale::log2, batches(lines, throughput_id)},
                   {"Throughput (items/s)", spread_scale(lines, throughput_id, 30), {}},
                   {}};
  for (const ShownLine& shown : lines) picture.chart.lines.push_back(line_against_batch(shown, throughput_id));
  return picture;
}

ChartGroup latency_picture(const Workload& workload, const std::vector<ShownLine>& lines) {
  ChartGroup picture{"Latency against batch", "solid: median, dotted: 99th percentile", {}};
  picture.chart = {workload.label + ": latency against batch",
                   {"Batch (samples a query)", Scale::log2, batches(lines, latency_id)},
                   {"Latency of a query (ms)", spread_scale(lines, latency_id, 8), {}},
                   {}};
  for (const ShownLine& shown : lines) {
    ChartLine tail{"", shown.style, true, {}, shown.line->key.backend, std::string(name_of(shown.line->key.precision))};
    for (const PointSummary* point : with_metric(*shown.line, tail_id)) {
      ChartPoint chart_point;
      chart_point.x = static_cast<double>(point->point.batch);
      chart_point.y = point->find(tail_id)->estimate.value;
      tail.points.push_back(chart_point);
    }
    if (tail.points.size() > 1) picture.chart.lines.push_back(tail);
    picture.chart.lines.push_back(line_against_batch(shown, latency_id));
  }
  return picture;
}

// Both intervals at each point, with its batch beside it.
ChartLine trade_off_line(const ShownLine& shown) {
  ChartLine line{shown.line->label, shown.style, false, {}, shown.line->key.backend, std::string(name_of(shown.line->key.precision))};
  for (const PointSummary* point : with_metric(*shown.line, throughput_id)) {
    const MetricSummary* latency = point->find(latency_id);
    if (latency == nullptr) continue;
    ChartPoint chart_point = against_batch(*shown.line, *point, throughput_id);
    chart_point.x = latency->estimate.value;
    chart_point.x_low = latency->estimate.low;
    chart_point.x_high = latency->estimate.high;
    chart_point.tag = std::to_string(point->point.batch);
    line.points.push_back(chart_point);
  }
  return line;
}

const Line* fastest_of(const std::vector<ShownLine>& lines) {
  const auto throughput = [](const ShownLine& shown) { return shown.line->peak()->find(throughput_id)->estimate.value; };
  return std::max_element(lines.begin(), lines.end(), [&](const auto& a, const auto& b) { return throughput(a) < throughput(b); })->line;
}

ChartGroup trade_off_picture(const Workload& workload, const std::vector<ShownLine>& lines) {
  ChartGroup picture{"Throughput against latency", "up and to the left is better; numbers: batch", {}};
  picture.chart = {workload.label + ": throughput against median latency",
                   {"Median latency (ms)", spread_scale(lines, latency_id, 5), {}},
                   {"Throughput (items/s)", spread_scale(lines, throughput_id, 30), {}},
                   {}};
  const Line* fastest = fastest_of(lines);
  for (const ShownLine& shown : lines) {
    ChartLine line = trade_off_line(shown);
    // The tags of many lines would hide each other: the fastest line stands for all.
    if (shown.line != fastest || line.points.size() < 2 || line.points.size() > 8) {
      for (ChartPoint& point : line.points) point.tag.clear();
    }
    picture.chart.lines.push_back(std::move(line));
  }
  return picture;
}

// Draws, if threads were swept, the peak over batches of each number of threads, one line for each way of running otherwise alike.
std::optional<ChartGroup> threads_picture(const Workload& workload) {
  ChartGroup picture{"Throughput against threads", "best batch of each number of threads", {}, true};
  std::set<double> counts;
  int style = 0;
  for (auto lines : lines_alike_but(workload, [](Point& point) { point.threads = 0; })) {
    if (lines.size() < 3 || picture.chart.lines.size() >= report_caps.lines) continue;
    std::stable_sort(lines.begin(), lines.end(), [](const Line* a, const Line* b) { return a->key.threads < b->key.threads; });
    ChartLine line{label_without_threads(*lines[0]), style++, false, {}};
    for (const Line* one : lines) {
      const PointSummary* peak = one->peak();
      if (peak == nullptr || one->key.threads <= 0) continue;
      line.points.push_back(against_batch(*one, *peak, throughput_id));
      line.points.back().x = one->key.threads;
      counts.insert(one->key.threads);
    }
    picture.chart.lines.push_back(std::move(line));
  }
  if (picture.chart.lines.empty()) return std::nullopt;
  picture.chart.describe = workload.label + ": throughput against threads";
  picture.chart.x = {"Threads", Scale::log2, {counts.begin(), counts.end()}};
  picture.chart.y = {"Throughput (items/s)", Scale::linear, {}};
  return picture;
}

}  // namespace

std::vector<ChartGroup> pictures_of(const Workload& workload, const std::vector<ShownLine>& lines) {
  std::vector<ChartGroup> pictures{throughput_picture(workload, lines), latency_picture(workload, lines),
                                   trade_off_picture(workload, lines)};
  if (auto threads = threads_picture(workload)) pictures.push_back(std::move(*threads));
  return pictures;
}

}  // namespace deepgap
