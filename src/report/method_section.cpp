// Shows how each number was made: from the metrics' and findings' own words.
#include "report/html.h"
#include "report/sections.h"

#include "analysis/metric.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

bool is_present(const Results& results, const std::string& metric) {
  return std::any_of(results.points.begin(), results.points.end(), [&](const PointSummary& p) { return p.find(metric) != nullptr; });
}

std::string metrics_table(const Results& results) {
  std::string rows;
  for (const Metric& metric : all_metrics()) {
    if (!is_present(results, metric.id)) continue;
    rows += fmt::format("<tr><td><code>{}</code></td><td>{}{}</td></tr>\n", html_escaped(metric.id), html_escaped(metric.describe),
                        metric.unit == "1" ? "" : " [" + html_escaped(metric.unit) + "]");
  }
  return rows.empty() ? "" : "<h3>Metrics</h3><table class=\"kv\"><tbody>" + rows + "</tbody></table>";
}

std::string findings_table(const View& view) {
  std::string rows;
  for (const FindingStatements& finding : view.findings) {
    rows += fmt::format("<tr><td><code>{}</code></td><td>{}</td></tr>\n", html_escaped(finding.id), html_escaped(finding.describe));
  }
  return rows.empty() ? "" : "<h3>Findings</h3><table class=\"kv\"><tbody>" + rows + "</tbody></table>";
}

}  // namespace

std::string method_section(const View& view) {
  std::string html =
      "<section id=\"method\"><h2>How the numbers are computed</h2>"
      "<p>A point is one thing to measure: a model on an engine, device, precision, batch and scenario. Its outputs are checked against an "
      "FP32 reference before it is timed; a wrong result is <code>incorrect</code> and has no time. Warm-up is left out of every value; "
      "inside the measured window nothing is dropped.</p>"
      "<p>Within a run the interval allows for neighbouring queries that resemble each other (batch means). Each repeat is a process of "
      "its own, and repeats run in random order. The interval over repeats is Student's on the logarithms of their values. It is never "
      "narrower than the scatter within the repeats allows. If the repeats ran on several equal nodes, each node counts once. With two or "
      "three repeats "
      "on a shared machine the interval may be wide. Two points differ significantly when the 95 % interval of their ratio leaves out 1. "
      "One in twenty such differences may be chance.</p>\n"
      "<p>A point is <code>valid</code> when its interval became as narrow as asked, <code>no target</code> when no width was asked for, "
      "and "
      "<code>unstable</code> when the budget ended first. Unstable points are shown and labelled. Percentiles are by nearest rank: always "
      "an observed value. A FLOP is one multiply or one add.</p>";
  return html + metrics_table(view.results) + findings_table(view) + "</section>";
}

}  // namespace deepgap
