// Shows where the time of end-to-end queries went, stage by stage.
#include "report/html.h"
#include "report/sections.h"

#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace deepgap {
namespace {

struct StageColumn {
  const char *title, *metric;
};
constexpr std::array<StageColumn, 8> stage_columns{{{"Wait", "stage_wait_decode_share"},
                                                    {"Read", "stage_read_share"},
                                                    {"Decode", "stage_decode_share"},
                                                    {"Resize", "stage_preprocess_share"},
                                                    {"Wait", "stage_wait_infer_share"},
                                                    {"Copy in", "stage_copy_in_share"},
                                                    {"Compute", "stage_compute_share"},
                                                    {"Copy out", "stage_copy_out_share"}}};

bool has_stages(const PointSummary& point) { return point.find("stage_decode_share") != nullptr; }

std::string cell(const std::string& text) { return "<td class=\"num\">" + html_escaped(text) + "</td>"; }

std::string percent(const PointSummary& point, const char* metric) {
  const MetricSummary* found = point.find(metric);
  if (found == nullptr) return {};
  const double share = found->estimate.value;
  return share > 0 && share < 0.0005 ? "< 0.05 %" : format_percent(share);
}

std::string row(const std::string& label, const PointSummary& point) {
  const MetricSummary* throughput = point.find("throughput");
  std::string html = "<tr><td>" + html_escaped(shortened(label, 240)) + "</td>";
  html += cell(throughput == nullptr ? "" : format_estimate(throughput->estimate));
  for (const StageColumn& column : stage_columns) html += cell(percent(point, column.metric));
  return html + cell(percent(point, "decode_busy_share")) + cell(percent(point, "marked_share")) + "</tr>\n";
}

// Returns the Points with their labels; no more of them than the table of points has.
std::vector<std::pair<std::string, const PointSummary*>> shown_points(const View& view) {
  std::vector<std::pair<std::string, const PointSummary*>> points;
  for (const Workload& workload : view.workloads) {
    for (const Line& line : workload.lines) {
      for (const PointSummary* point : line.points) {
        if (has_stages(*point) && points.size() < report_caps.rows)
          points.emplace_back(fmt::format("{}, {}, batch {}", workload.label, line.label, point->point.batch), point);
      }
    }
  }
  return points;
}

}  // namespace

std::string stages_section(const View& view) {
  if (std::none_of(view.results.points.begin(), view.results.points.end(), has_stages)) return {};
  std::string html =
      "<section id=\"stages\"><h2>End to end</h2><p class=\"aside\">Shares of a query's time from its submission to its answer; queries "
      "that "
      "overlap wait for each other. The last two columns are shares of the window: how busy the threads that decode and the network were. "
      "</p><div class=\"scroll\" tabindex=\"0\"><table class=\"points\"><thead><tr><th scope=\"col\">Point</th>"
      "<th scope=\"col\" class=\"num\">Throughput<span>items/s</span></th>";
  for (const StageColumn& column : stage_columns) html += fmt::format("<th scope=\"col\" class=\"num\">{}</th>", column.title);
  html +=
      "<th scope=\"col\" class=\"num\">Threads<span>busy</span></th><th scope=\"col\" class=\"num\">Network<span>busy</span></th></tr>"
      "</thead><tbody>\n";
  for (const auto& [label, point] : shown_points(view)) html += row(label, *point);
  return html + "</tbody></table></div></section>";
}

}  // namespace deepgap
