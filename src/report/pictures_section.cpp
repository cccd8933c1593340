// One row of charts for each model.
#include "report/html.h"
#include "report/page.h"
#include "report/pictures.h"
#include "report/sections.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

size_t points_in(const std::vector<ShownLine>& lines) {
  size_t points = 0;
  for (const ShownLine& shown : lines) points += shown.line->points.size();
  return points;
}

std::string workload_part(const Workload& workload, const std::vector<ShownLine>& lines, size_t left_out) {
  const auto pictures = pictures_of(workload, lines);
  std::string html = "<h3>" + html_escaped(heading_of(workload)) + "</h3>";
  if (!has_end_labels(pictures[0].chart)) html += legend(pictures[0].chart);
  if (left_out > 0) {
    html += fmt::format("<p class=\"aside\">The {} lines with the highest throughput of {}; the others are in the table.</p>", lines.size(),
                        lines.size() + left_out);
  }
  html += "<div class=\"charts\">";
  for (const ChartGroup& picture : pictures) {
    const std::string svg = chart_svg(picture.chart);
    if (svg.empty()) continue;
    html += fmt::format("<figure><figcaption><b>{}</b>{}</figcaption>{}{}</figure>", html_escaped(picture.title),
                        picture.note.empty() ? "" : "<span>" + html_escaped(picture.note) + "</span>",
                        picture.own_lines && !has_end_labels(picture.chart) ? legend(picture.chart) : "", svg);
  }
  return html + "</div>";
}

}  // namespace

std::string pictures_section(const View& view) {
  std::string parts;
  size_t shown = 0, not_shown = 0, points = 0;
  for (const Workload& workload : view.workloads) {
    size_t left_out = 0;
    const auto lines = shown_lines(view, workload, left_out);
    if (lines.empty()) continue;
    points += points_in(lines);
    if (shown == report_caps.workloads || (points > report_caps.chart_points && shown > 0)) {
      ++not_shown;
      continue;
    }
    parts += workload_part(workload, lines, left_out);
    ++shown;
  }
  std::string html = "<section id=\"pictures\"><h2>Throughput and latency</h2>";
  if (shown == 0) return html + "<p>There is nothing to draw: no point has a usable value.</p></section>";
  html +=
      "<p class=\"aside\">Bars are 95 % intervals, over repeats where a point was repeated, else within its run; a bar without an end cap "
      "goes "
      "on beyond the frame. Hollow markers are unstable points. Point at a marker for its numbers.</p>";
  return html + parts + left_out_note(not_shown, "more workload is not drawn", "more workloads are not drawn") + "</section>";
}

}  // namespace deepgap
