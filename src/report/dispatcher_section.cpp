// Shows what the dispatcher between scenario and sessions did: how large the batches were, and how many queries waited in the course of the
// window. Each Point is shown by its last Record.
#include "record/fact_values.h"
#include "report/chart.h"
#include "report/sections.h"

#include "analysis/words.h"
#include "base/text.h"
#include "record/point_option.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr std::string_view batches_prefix = "batches.";

bool has_dispatcher(const PointSummary& point) { return !point.dispatcher.empty(); }

std::vector<ChartPoint> batch_points(const PointSummary& point) {
  std::vector<ChartPoint> points;
  double all = 0;
  for (const auto& [name, ignored] : point.dispatcher) {
    const auto size = name.starts_with(batches_prefix) ? parse_int(name.substr(batches_prefix.size())) : std::nullopt;
    if (!size) continue;
    ChartPoint made;
    made.x = static_cast<double>(*size);
    made.y = fact_number(point.dispatcher, name).value_or(0);
    all += made.y;
    points.push_back(made);
  }
  for (ChartPoint& made : points) {
    made.tip = fmt::format("{} batches of {}", format_count(static_cast<int64_t>(made.y)),
                           count_of(static_cast<int64_t>(made.x), "sample", "samples"));
    made.y /= all;
  }
  std::sort(points.begin(), points.end(), [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  return points;
}

// Returns the numbers in the fact `name`, one for each equal part of the window; `tip` describes them.
template <typename Tip>
std::vector<ChartPoint> points_over_time(const PointSummary& point, const std::string& name, const Tip& tip) {
  const auto length = fact_number(point.dispatcher, "depth_s");
  const auto* text = fact_as<std::string>(point.dispatcher, name);
  if (text == nullptr || !length) return {};
  const std::vector<std::string> parts = split(*text, ' ');
  std::vector<ChartPoint> points;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto value = parse_double(parts[i]);
    if (!value) continue;  // nothing happened in it
    ChartPoint made;
    made.x = *length * static_cast<double>(i) / static_cast<double>(parts.size());
    made.y = *value;
    made.tip = fmt::format("{} after {} s", tip(*value), format_significant(made.x));
    points.push_back(made);
  }
  return points;
}

std::vector<ChartPoint> depth_points(const PointSummary& point) {
  return points_over_time(point, "depth",
                          [](double depth) { return count_of(static_cast<int64_t>(depth), "query", "queries") + " waited"; });
}

std::vector<ChartPoint> size_points(const PointSummary& point) {
  return points_over_time(point, "sizes", [](double size) { return format_significant(size) + " samples in a batch"; });
}

WorkloadPictures pictures_of(const Workload& workload) {
  Chart batches{workload.label + ": share of batches against their size",
                {"Samples in a batch", Scale::linear, {}},
                {"Share of batches", Scale::linear, {}},
                {}};
  Chart depth{
      workload.label + ": queries that waited, over time", {"Time (s)", Scale::linear, {}}, {"Queries that waited", Scale::linear, {}}, {}};
  Chart sizes{workload.label + ": mean size of the batches, over time",
              {"Time (s)", Scale::linear, {}},
              {"Samples in a batch", Scale::linear, {}},
              {}};
  size_t left_out = 0;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      if (!has_dispatcher(*point)) continue;
      const bool confirmed = option_of(point->point, "peak") == "confirm";  // the point that a search found stands for its candidates
      if (line.is_candidate() && !confirmed) continue;
      if (batches.lines.size() == report_caps.lines) {
        ++left_out;
        continue;
      }
      const std::string label = label_with_batch(line, *point);
      const int style = static_cast<int>(batches.lines.size());
      batches.lines.push_back({label, style, false, batch_points(*point)});
      sizes.lines.push_back({label, style, false, size_points(*point)});
      depth.lines.push_back({label, style, false, depth_points(*point)});
    }
  }
  std::vector<std::string> labels;
  for (const ChartLine& line : batches.lines) labels.push_back(line.label);
  labels = labels_apart(labels);
  for (Chart* chart : {&batches, &sizes, &depth}) {
    for (size_t i = 0; i < labels.size(); ++i) chart->lines[i].label = labels[i];
  }
  return {chart_figure("Batches", "as the sessions got them", batches) +
              chart_figure("Batches over time", "the mean of those that left in each sixtieth of the window", sizes) +
              chart_figure("Queue", "the most in each sixtieth of the window", depth),
          left_out};
}

}  // namespace

std::string dispatcher_section(const View& view) {
  if (std::none_of(view.results.points.begin(), view.results.points.end(), has_dispatcher)) return {};
  const std::string html =
      "<section id=\"dispatcher\"><h2>Batches and queue</h2><p class=\"aside\">Queries are queued, joined to batches and spread over "
      "sessions. Queries that an overloaded run has not yet sent are not in this queue.</p>";
  return html + drawn_workloads(view, pictures_of) + "</section>";
}

}  // namespace deepgap
