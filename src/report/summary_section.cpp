// The most important findings, the best of each model in a table, and the rest folded away.
#include "report/best_table.h"
#include "report/html.h"
#include "report/key_statements.h"
#include "report/page.h"
#include "report/sections.h"

#include "analysis/words.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

std::string tone_word(Tone tone) {
  if (tone == Tone::warning) return "<span class=\"tone\">Caution</span>";
  if (tone == Tone::failure) return "<span class=\"tone\">Failed</span>";
  return {};
}

std::string tone_class(Tone tone) {
  constexpr const char* names[] = {"result", "note", "warning", "failure"};
  return names[static_cast<size_t>(tone)];
}

// Links to the rows that show it, as far as the table has them. What all of them share is said once, in front.
std::string evidence(const View& view, const std::vector<const PointSummary*>& points) {
  constexpr size_t most = 4;
  std::vector<const PointSummary*> linked;
  for (const PointSummary* point : points) {
    if (linked.size() < most && view.anchors.count(point) > 0) linked.push_back(point);
  }
  if (linked.empty()) return {};
  const std::vector<std::string> names = point_names(view, linked);
  std::string links;
  for (size_t i = 0; i < linked.size(); ++i) {
    links += fmt::format("{}<a href=\"#{}\">{}</a>", i == 0 ? "" : "; ", html_escaped(view.anchors.at(linked[i])), html_escaped(names[i]));
  }
  if (points.size() > linked.size()) links += fmt::format(" and {} more", points.size() - linked.size());
  return fmt::format("<p class=\"evidence\">See {}</p>", links);
}

std::string item(const View& view, const Statement& statement) {
  return fmt::format("<li class=\"{}\"><p class=\"head\">{}{}</p>{}{}</li>", tone_class(statement.tone), tone_word(statement.tone),
                     html_escaped(statement.headline),
                     statement.detail.empty() ? "" : "<p class=\"detail\">" + html_escaped(shortened(statement.detail, 1500)) + "</p>",
                     evidence(view, statement.points));
}

}  // namespace

std::string statements_list(const View& view, const std::vector<Statement>& statements, size_t open, const std::string& css_class) {
  const size_t shown = std::min(statements.size(), report_caps.statements);
  const auto list = [&](size_t from, size_t to) {
    std::string html = "<ul class=\"says " + css_class + "\">";
    for (size_t i = from; i < to; ++i) html += item(view, statements[i]);
    return html + "</ul>";
  };
  std::string html = list(0, std::min(open, shown));
  if (shown > open) html += fmt::format("<details><summary>{} more</summary>{}</details>", shown - open, list(open, shown));
  return html + left_out_note(statements.size() - shown, "more is left out", "more are left out");
}

std::string summary_section(const View& view) {
  std::string html = "<section id=\"summary\" style=\"--n:2\"><h2>Summary</h2>";
  if (view.results.records == 0) {
    return html + "<p>The store has no records. Measure something with <code>deepgap run</code>, then make the report again.</p></section>";
  }
  const std::string table = best_table(view);
  if (table.empty()) html += "<p>No point has a usable value. The reasons are below.</p>";
  const KeyStatements key = key_statements(view.findings);
  html += statements_list(view, key.shown, key_statements_shown, "lead") + table;
  if (!key.folded.empty()) {
    html += fmt::format("<details><summary>{}</summary>{}</details>",
                        count_of(static_cast<int64_t>(key.folded.size()), "more finding", "more findings"),
                        statements_list(view, key.folded, report_caps.statements, ""));
  }
  return html + "</section>";
}

std::string failures_section(const View& view) {
  std::string html = "<section id=\"failures\" style=\"--n:2\"><h2>Failures and refusals</h2>";
  bool said = false;
  for (const FindingStatements& finding : view.findings) {
    if (finding.place != Place::failures) continue;
    html += statements_list(view, finding.statements, report_caps.statements, "");
    said = true;
  }
  if (!said)
    html += view.results.records == 0 ? "<p>None: nothing was run.</p>" : "<p>None: every record ran to its end with outcome ok.</p>";
  return html + "</section>";
}

}  // namespace deepgap
