// Every point in a table that can be sorted.
#include "record/verdict.h"
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

// On a narrow page a row is a card: `head` says which point it is, `main` what matters first.
std::string cell_class(const Column& column) {
  const std::string name = column.numeric ? "num" : column.title == "options" ? "wrap" : column.title;
  const bool named = column.numeric || name == "wrap" || name == "model" || name == "verdict";
  const std::string place = column.place == ColumnPlace::head ? " head" : column.place == ColumnPlace::main ? " main" : "";
  if (!named) return place.empty() ? "" : place.substr(1);
  return name + place;
}

// The headings again for the cards, by column: said once, not in every cell.
std::string card_labels(const std::vector<Column>& columns) {
  std::string css = "<style>";
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string text = columns[i].title + (columns[i].unit.empty() ? "" : ", " + columns[i].unit);
    css += fmt::format(".sortable td:nth-child({}){{--t:\"{}\"}}", i + 1, css_escaped(text));
  }
  return css + "</style>";
}

// May break after what joins words, so that a column is no wider than its longest word.
std::string breakable(const std::string& text) {
  constexpr std::string_view joins = "_+=;:,/-";
  std::string html;
  size_t from = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (joins.find(text[i]) == std::string_view::npos) continue;
    html += html_escaped(text.substr(from, i + 1 - from)) + "<wbr>";
    from = i + 1;
  }
  return html + html_escaped(text.substr(from));
}

std::string cell(const Column& column, const PointSummary& point) {
  const std::string css_class = cell_class(column);
  std::string html = "<td";
  if (!css_class.empty()) html += " class=\"" + css_class + "\"";
  if (column.sort) {
    const double value = column.sort(point);
    html += std::isnan(value) ? " data-v=\"\"" : fmt::format(" data-v=\"{:.9g}\"", value);
  }
  const std::string text = shortened(column.text(point), 240);
  html += ">" + (column.numeric ? html_escaped(text) : breakable(text));
  const std::string small = column.small ? column.small(point) : "";
  if (!small.empty()) html += fmt::format("<small>{}</small>", html_escaped(shortened(small, 240)));
  return html + "</td>";
}

std::string row(const View& view, const PointSummary& point) {
  std::string html = fmt::format("<tr id=\"{}\" data-e=\"{}\" data-p=\"{}\"", html_escaped(view.anchors.at(&point)),
                                 html_escaped(point.point.backend), name_of(point.point.precision));
  if (point.outcome != Outcome::ok) {
    html += " class=\"failed\"";
  } else if (!is_sound(point.verdict)) {
    html += point.verdict == Verdict::invalid ? " class=\"invalid\"" : " class=\"unstable\"";
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
  html += " Everything else that was measured is in the store: <code>deepgap export STORE --format csv</code>.</p>";
  if (view.rows.size() < view.results.points.size()) {
    html += fmt::format("<p class=\"aside\">The first {} of {} are shown, to keep this page small.</p>", view.rows.size(),
                        count_of(static_cast<int64_t>(view.results.points.size()), "point", "points"));
  }
  html += card_labels(view.columns) + "<div class=\"scroll\" tabindex=\"0\"><table class=\"points sortable\">" + head(view.columns) +
          "<tbody>\n";
  for (const PointSummary* point : view.rows) html += row(view, *point);
  return html + "</tbody></table></div></section>";
}

}  // namespace deepgap
