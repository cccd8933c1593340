// Duels: every contender against the first of its duel, with the interval of their turns.
#include "report/forest.h"
#include "report/html.h"
#include "report/page.h"
#include "report/sections.h"

#include "analysis/duel/duels.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::string picture(const DuelFound& duel) {
  Forest forest{"Throughput over that of " + duel.first_name, "times the throughput of " + duel.first_name, duel.margin, {}};
  for (const DuelOutcome& outcome : duel.others) {
    ForestRow row{outcome.name, outcome.known ? outcome.standing.ratio : 0,         {},
                  {},           outcome.standing.difference == Difference::unknown, outcome.words};
    if (outcome.standing.interval) {
      row.low = outcome.standing.interval->low;
      row.high = outcome.standing.interval->high;
    }
    forest.rows.push_back(std::move(row));
  }
  const std::string svg = forest_svg(forest);
  return svg.empty() ? "" : "<figure class=\"wide\">" + svg + "</figure>";
}

std::string one(const DuelFound& duel) {
  std::string html = fmt::format("<h3>{}</h3>{}<ul>", html_escaped(duel.label()), picture(duel));
  for (const DuelOutcome& outcome : duel.others) html += fmt::format("<li>{}</li>", html_escaped(outcome.words));
  return html + "</ul>\n";
}

}  // namespace

std::string duels_section(const View& view) {
  const std::vector<DuelFound> duels = duels_of(view.results.points);
  if (duels.empty()) return {};
  std::string html =
      "<section id=\"duels\"><h2>Interleaved comparisons</h2><p class=\"aside\">All arms stayed loaded and ran in alternating time slices. "
      "Each is "
      "compared with the first, slice by slice. Bars are 95 % intervals that stay valid however often they are checked. The band marks "
      "ratios that count as the same. Hollow marks are inconclusive.</p>";
  for (size_t i = 0; i < duels.size() && i < report_caps.statements; ++i) html += one(duels[i]);
  return html +
         left_out_note(duels.size() - std::min(duels.size(), report_caps.statements), "more interleaved comparison is not drawn",
                       "more interleaved comparisons are not drawn") +
         "</section>";
}

}  // namespace deepgap
