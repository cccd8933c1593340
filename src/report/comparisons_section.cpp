// Ordinary comparisons as forest plots: of each Workload, every way of running it against one of them at the same batch. Which one was not
// chosen by the results, so that nothing is won by having been lucky.
#include "analysis/comparison.h"
#include "analysis/point_labels.h"
#include "report/forest.h"
#include "report/html.h"
#include "report/page.h"
#include "report/sections.h"
#include "stats/repeats_ratio.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr double margin = 0.02;
constexpr size_t most_rows = 24, most_pictures = 12;

struct Pair {
  const Line* line;
  const PointSummary *point, *first;
};

bool can_be_compared(const PointSummary& point) {
  const MetricSummary* throughput = point.find("throughput");
  return point.usable() && throughput != nullptr && throughput->repeats.size() >= fewest_repeats;
}

std::vector<const PointSummary*> repeated_points(const Line& line) {
  std::vector<const PointSummary*> points;
  if (line.is_candidate()) return points;
  std::copy_if(line.points.begin(), line.points.end(), std::back_inserter(points),
               [](const PointSummary* p) { return can_be_compared(*p); });
  return points;
}

const PointSummary* at_batch(const std::vector<const PointSummary*>& points, int64_t batch) {
  const auto found = std::find_if(points.begin(), points.end(), [&](const PointSummary* p) { return p->point.batch == batch; });
  return found == points.end() ? nullptr : *found;
}

// The first Line by its name that has anything to compare.
const Line* first_line(const Workload& workload) {
  const auto found =
      std::find_if(workload.lines.begin(), workload.lines.end(), [](const Line& line) { return !repeated_points(line).empty(); });
  return found == workload.lines.end() ? nullptr : &*found;
}

std::vector<Pair> pairs_of(const Workload& workload, const Line& first) {
  const auto of_first = repeated_points(first);
  std::vector<Pair> pairs;
  for (const Line& line : workload.lines) {
    if (&line == &first) continue;
    for (const PointSummary* point : repeated_points(line)) {
      if (const PointSummary* other = at_batch(of_first, point->point.batch)) pairs.push_back({&line, point, other});
    }
  }
  return pairs;
}

// Together the intervals are wrong in one of twenty charts at most (Bonferroni).
double confidence_for(size_t pairs) { return 1 - (1 - default_confidence) / static_cast<double>(std::max<size_t>(pairs, 1)); }

std::string picture(const Workload& workload, size_t& left_out) {
  const Line* first = first_line(workload);
  if (first == nullptr) return {};
  std::vector<Pair> pairs = pairs_of(workload, *first);
  Forest forest{workload.label + ": throughput over that of " + first->label, "times the throughput of " + first->label, margin, {}};
  const double confidence = confidence_for(pairs.size());
  for (const Pair& pair : pairs) {
    if (forest.rows.size() == most_rows) {
      ++left_out;
      continue;
    }
    const auto comparison = compare_points(*pair.point, *pair.first, "throughput", confidence);
    if (!comparison || !comparison->interval) continue;
    ForestRow row{fmt::format("{} \u00b7 {}", pair.line->label, batch_words(pair.point->point)),
                  comparison->ratio,
                  comparison->interval->low,
                  comparison->interval->high,
                  !comparison->separable(),
                  {}};
    row.tip = comparison_words(*comparison, first->label);
    forest.rows.push_back(std::move(row));
  }
  const std::string svg = forest_svg(forest);
  return svg.empty() ? std::string() : "<figure class=\"wide\">" + svg + "</figure>\n";
}

}  // namespace

std::string comparisons_section(const View& view) {
  std::string parts;
  size_t drawn = 0, not_drawn = 0, rows_left_out = 0;
  for (const Workload& workload : view.workloads) {
    size_t left_out = 0;
    const std::string figure = picture(workload, left_out);
    if (figure.empty()) continue;
    if (drawn == most_pictures) {
      ++not_drawn;
      continue;
    }
    parts += "<h3>" + html_escaped(heading_of(workload)) + "</h3>" + figure;
    rows_left_out += left_out;
    ++drawn;
  }
  if (parts.empty()) return {};
  std::string html =
      "<section id=\"comparisons\"><h2>Against each other</h2><p class=\"aside\">Every way of running a model against the first one by "
      "name, at the same batch, over their repeats. The bars are simultaneous 95 % intervals. The band reaches 2 % to either side of "
      "equal. "
      "Hollow marks show no significant difference. Points with fewer than three repeats are left out.</p>";
  return html + parts + left_out_note(rows_left_out, "more comparison is not drawn", "more comparisons are not drawn") +
         left_out_note(not_drawn, "more workload is not drawn", "more workloads are not drawn") + "</section>";
}

}  // namespace deepgap
