// Writes the report as Markdown: words and tables, for places where HTML cannot go.
#include "report/best_table.h"
#include "report/html.h"
#include "report/key_statements.h"
#include "report/report.h"
#include "report/sections.h"

#include "analysis/metric.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::string statements(const std::vector<Statement>& said) {
  std::string text;
  const size_t shown = std::min(said.size(), report_caps.statements);
  for (size_t i = 0; i < shown; ++i) {
    const Statement& statement = said[i];
    const char* tone = statement.tone == Tone::warning ? "Caution: " : statement.tone == Tone::failure ? "Failed: " : "";
    text += fmt::format("- **{}{}**", tone, markdown_escaped(statement.headline));
    if (!statement.detail.empty()) text += "  \n  " + markdown_escaped(shortened(statement.detail, 600));
    text += "\n";
  }
  if (shown < said.size()) text += fmt::format("- {} more are left out.\n", said.size() - shown);
  return text;
}

std::string findings(const View& view, Place place) {
  std::string text;
  for (const FindingStatements& finding : view.findings) {
    if (finding.place == place) text += statements(finding.statements) + "\n";
  }
  return text;
}

std::string points_table(const View& view) {
  if (view.rows.empty()) return "None.\n\n";
  std::string text;
  if (!view.constants.empty()) text += "All points share: " + markdown_escaped(view.constants) + ".\n\n";
  if (view.rows.size() < view.results.points.size()) {
    text += fmt::format("The first {} of {} points are shown.\n\n", view.rows.size(), view.results.points.size());
  }
  std::string rule = "|";
  text += "|";
  for (const Column& column : view.columns) {
    text += fmt::format(" {}{} |", markdown_escaped(column.title), column.unit.empty() ? "" : " (" + markdown_escaped(column.unit) + ")");
    rule += column.numeric ? " ---: |" : " --- |";
  }
  text += "\n" + rule + "\n";
  for (const PointSummary* point : view.rows) {
    text += "|";
    for (const Column& column : view.columns) {
      const std::string small = column.small ? column.small(*point) : "";
      text += fmt::format(" {}{} |", markdown_escaped(shortened(column.text(*point), 160)),
                          small.empty() ? "" : " (" + markdown_escaped(shortened(small, 160)) + ")");
    }
    text += "\n";
  }
  return text + "\n";
}

std::string environment(const View& view) {
  const auto facts = machine_facts(view.results);
  if (facts.empty()) return "Nothing was recorded.\n\n";
  std::string text = "| | |\n| --- | --- |\n";
  for (const auto& [name, value] : facts)
    text += fmt::format("| {} | {} |\n", markdown_escaped(name), markdown_escaped(shortened(value, 300)));
  return text + "\n";
}

std::string metrics(const Results& results) {
  std::string text;
  for (const Metric& metric : all_metrics()) {
    const std::string& id = metric.id;
    const bool present =
        std::any_of(results.points.begin(), results.points.end(), [&](const PointSummary& p) { return p.find(id) != nullptr; });
    if (present) text += fmt::format("- `{}`: {}\n", id, markdown_escaped(metric.describe));
  }
  return text.empty() ? "No metric has a value.\n" : text;
}

}  // namespace

std::string markdown_report(const Results& results, const ReportOptions& options) {
  const View view = make_view(results);
  std::string text = "# " + markdown_escaped(options.title) + "\n\n";
  if (results.records == 0) {
    text += "This store holds no records yet: nothing was measured.\n\n";
  } else {
    const std::string when = results.first_started_unix_ns == 0 ? ""
                                                                : fmt::format(", {} to {}", format_time(results.first_started_unix_ns),
                                                                              format_time(results.last_started_unix_ns));
    text += fmt::format("{} of {}{}.{}\n\n", count_of(results.records, "record", "records"),
                        count_of(static_cast<int64_t>(results.points.size()), "point", "points"), when,
                        options.source.empty() ? "" : " Store: " + markdown_escaped(options.source) + ".");
  }
  const std::string failures = findings(view, Place::failures);
  const KeyStatements key = key_statements(view.findings);
  const bool any_ran = std::any_of(results.points.begin(), results.points.end(), [](const auto& p) { return p.outcome == Outcome::ok; });
  if (results.records > 0 && !any_ran) text += "No point has a usable value; see Failures and refusals for the reasons.\n\n";
  text +=
      "## Summary\n\n" + (key.shown.empty() ? "No point has a usable value.\n" : statements(key.shown)) + "\n" + best_table_markdown(view);
  if (!key.folded.empty()) text += "## More findings\n\n" + statements(key.folded) + "\n";
  if (const std::string take = take_markdown(view); !take.empty()) text += "## Recommendations\n\n" + take;
  if (const std::string fronts = fronts_markdown(view, options.fronts); !fronts.empty()) text += "## Pareto fronts\n\n" + fronts;
  text += "## Points\n\nValues in parentheses are 95 % intervals.\n\n" + points_table(view);
  text += "## Failures and refusals\n\n" + (failures.empty() ? "None.\n\n" : failures);
  text += "## Environment\n\n" + environment(view);
  return text + "## How the numbers are computed\n\n" + metrics(results);
}

}  // namespace deepgap
