// Every point in a table that can be sorted.
#include "report/html.h"
#include "report/sections.h"

#include "analysis/words.h"

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

std::string head(const std::vector<Column>& columns) {
  std::string html = "<thead><tr>";
  for (const Column& column : columns) {
    html += fmt::format("<th scope=\"col\"{}>{}{}</th>", column.numeric ? " class=\"num\"" : "", html_escaped(column.title),
                        column.unit.empty() ? "" : "<span>" + html_escaped(column.unit) + "</span>");
  }
  return html + "</tr></thead>";
}

std::string cell_class(const Column& column) {
  if (column.numeric) return "num";
  if (column.title == "options") return "wrap";
  return column.title == "model" || column.title == "verdict" ? column.title : "";
}

std::string cell(const Column& column, const PointSummary& point) {
  const std::string css_class = cell_class(column);
  std::string html = "<td";
  if (!css_class.empty()) html += " class=\"" + css_class + "\"";
  if (column.sort) {
    const double value = column.sort(point);
    html += std::isnan(value) ? " data-v=\"\"" : fmt::format(" data-v=\"{:.9g}\"", value);
  }
  html += fmt::format(">{}", html_escaped(shortened(column.text(point), 240)));
  const std::string small = column.small ? column.small(point) : "";
  if (!small.empty()) html += fmt::format("<small>{}</small>", html_escaped(shortened(small, 240)));
  return html + "</td>";
}

std::string row(const View& view, const PointSummary& point) {
  std::string html = "<tr id=\"" + html_escaped(view.anchors.at(&point)) + "\"";
  if (point.outcome != Outcome::ok) {
    html += " class=\"failed\"";
  } else if (point.verdict != Verdict::valid) {
    html += point.verdict == Verdict::unstable ? " class=\"unstable\"" : " class=\"invalid\"";
  }
  html += ">";
  for (const Column& column : view.columns) html += cell(column, point);
  return html + "</tr>\n";
}

}  // namespace

std::string table_section(const View& view) {
  std::string html = "<section id=\"points\"><h2>Points</h2>";
  if (view.rows.empty()) return html + "<p>None.</p></section>";
  html += "<p class=\"aside\">Small figures are 95 % intervals. A click on a heading sorts.";
  if (!view.constants.empty()) html += " All points share: " + html_escaped(view.constants) + ".";
  html += " Everything else that was measured is in the Store: <code>deepgap export STORE --format csv</code>.</p>";
  if (view.rows.size() < view.results.points.size()) {
    html += fmt::format("<p class=\"aside\">The first {} of {} are shown, to keep this page small.</p>", view.rows.size(),
                        count_of(static_cast<int64_t>(view.results.points.size()), "point", "points"));
  }
  html += "<div class=\"scroll\" tabindex=\"0\"><table class=\"points sortable\">" + head(view.columns) + "<tbody>\n";
  for (const PointSummary* point : view.rows) html += row(view, *point);
  return html + "</tbody></table></div></section>";
}

}  // namespace deepgap
