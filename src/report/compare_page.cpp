#include "report/compare_page.h"

#include "report/html.h"
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr size_t most_drawn = 60, most_rows = 2000;

std::string notes_list(const std::vector<std::string>& notes) {
  if (notes.empty()) return {};
  std::string html = "<h2>Notes on the comparison</h2><ul>";
  for (const std::string& note : notes) html += "<li>" + html_escaped(note) + "</li>";
  return html + "</ul>\n";
}

// Draws those furthest from 1 first if not all can be drawn.
std::string picture(const ComparedStores& compared) {
  std::vector<const ComparedPoint*> drawn;
  for (const ComparedPoint& point : compared.points) drawn.push_back(&point);
  if (drawn.size() > most_drawn) {
    const auto distance = [](const ComparedPoint* p) { return p->row.ratio > 0 ? std::abs(std::log(p->row.ratio)) : 0; };
    std::stable_sort(drawn.begin(), drawn.end(), [&](const auto* x, const auto* y) { return distance(x) > distance(y); });
    drawn.resize(most_drawn);
  }
  Forest forest{compared.metric + " of " + compared.b + " over that of " + compared.a,
                compared.metric + ": " + compared.b + " over " + compared.a,
                compared.margin,
                {}};
  for (const ComparedPoint* point : drawn) forest.rows.push_back(point->row);
  const std::string svg = forest_svg(forest);
  if (svg.empty()) return {};
  std::string html =
      "<h2>Ratios</h2><p class=\"aside\">Bars are 95 % intervals, the band is what counts as the same, hollow marks are not decided. A row "
      "without a bar has too few repeats.</p>\n<figure class=\"wide\">" +
      svg + "</figure>\n";
  if (drawn.size() < compared.points.size())
    html += fmt::format("<p class=\"aside\">The {} of {} points that are furthest from 1; the table has all.</p>\n", drawn.size(),
                        compared.points.size());
  return html;
}

std::string table(const ComparedStores& compared) {
  std::string html = "<h2>Point by point</h2><div class=\"scroll\"><table><thead><tr><th>point</th>";
  for (const std::string& head : {compared.a, compared.b, std::string("ratio")})
    html += "<th class=\"num\">" + html_escaped(head) + "</th>";
  html += "<th>verdict</th></tr></thead><tbody>\n";
  for (size_t i = 0; i < compared.points.size() && i < most_rows; ++i) {
    const ComparedPoint& point = compared.points[i];
    html += "<tr><td>" + html_escaped(point.row.label) + "</td>";
    for (const std::string* text : {&point.a, &point.b, &point.ratio}) html += "<td class=\"num\">" + html_escaped(*text) + "</td>";
    html += "<td>" + html_escaped(point.verdict) + "</td></tr>\n";
  }
  const size_t left_out = compared.points.size() - std::min(compared.points.size(), most_rows);
  return html + "</tbody></table></div>\n" +
         left_out_note(left_out, "more point is not in this table", "more points are not in this table");
}

}  // namespace

std::string compare_page(const ComparedStores& compared) {
  PageParts parts;
  parts.eyebrow = "deepgap compare";
  parts.title = compared.b + " against " + compared.a;
  parts.lede = "<p class=\"lede\">" + html_escaped(compared.metric + ": " + compared.counts) + ".</p>";
  parts.sections = notes_list(compared.notes) + picture(compared) + (compared.points.empty() ? "" : table(compared));
  return html_page(parts);
}

}  // namespace deepgap
