#include "report/best_table.h"

#include "analysis/metric.h"
#include "analysis/words.h"
#include "report/html.h"
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

// Returns the table's title for a metric's best.
std::string title_of(const std::string& metric) {
  if (metric == "throughput" || metric == "output_tokens_per_s") return "Highest throughput";
  if (metric == "latency_p50_ms") return "Lowest median latency";
  if (metric == "ttft_p50_ms") return "Lowest median time to the first token";
  if (metric == "tpot_ms") return "Lowest time per token";
  if (metric.starts_with("energy_j_per_")) return "Least energy";
  return "Lowest cost";
}

struct Row {
  std::string model;  // empty for those below the first of a model
  std::string best, value, interval, engine, precision, batch, device;
  std::string anchor;
  size_t rows_of_model = 0;
};

Row row_of(const View& view, const BestValue& best) {
  Row row;
  const Point& point = best.point->point;
  row.best = title_of(best.metric);
  const ReadableValue value = readable_value(*find_metric(best.metric), best.value, view.results.currency);
  row.value = format_estimate(value.estimate) + " " + value.unit;
  const MetricSummary* metric = best.point->find(best.metric);
  row.interval = metric != nullptr && is_of_two(*metric) ? format_interval(*metric) : format_interval(value.estimate);
  row.engine = point.backend;
  row.precision = name_of(point.precision);
  row.batch = point.batch == 0 ? "" : std::to_string(point.batch);
  row.device = best.line->device_label;
  if (const auto anchor = view.anchors.find(best.point); anchor != view.anchors.end()) row.anchor = anchor->second;
  return row;
}

std::vector<Row> rows_of(const View& view, size_t& left_out) {
  std::vector<Row> rows;
  size_t models = 0;
  left_out = 0;
  for (const Workload& workload : view.workloads) {
    const std::vector<BestValue> values = best_values(workload);
    if (values.empty()) continue;
    if (++models > report_caps.workloads) {
      ++left_out;
      continue;
    }
    const size_t first = rows.size();
    for (const BestValue& value : values) rows.push_back(row_of(view, value));
    rows[first].model = workload.label;
    rows[first].rows_of_model = values.size();
  }
  return rows;
}

bool device_varies(const std::vector<Row>& rows) {
  std::set<std::string> devices;
  for (const Row& row : rows) devices.insert(row.device);
  return devices.size() > 1;
}

std::string cell(const Row& row, bool with_device) {
  const std::string value = row.anchor.empty() ? html_escaped(row.value)
                                               : fmt::format("<a href=\"#{}\">{}</a>", html_escaped(row.anchor), html_escaped(row.value));
  std::string html = fmt::format(
      "<td class=\"what\">{}</td><td class=\"num value\">{}{}</td><td class=\"with\">{}</td><td class=\"with\">{}</td><td class=\"num "
      "batch with\">{}</td>",
      html_escaped(row.best), value, row.interval.empty() ? "" : "<small>" + html_escaped(row.interval) + "</small>",
      html_escaped(row.engine), html_escaped(row.precision), row.batch);
  if (with_device) html += "<td class=\"with\">" + html_escaped(row.device) + "</td>";
  return html;
}

}  // namespace

std::string best_table(const View& view) {
  size_t left_out = 0;
  const std::vector<Row> rows = rows_of(view, left_out);
  if (rows.empty()) return {};
  const bool with_device = device_varies(rows);
  std::string html = fmt::format(
      "<div class=\"scroll\"><table class=\"best\"><thead><tr><th scope=\"col\">model</th><th scope=\"col\">best</th><th scope=\"col\" "
      "class=\"num\">value<span>95 % interval</span></th><th scope=\"col\">engine</th><th scope=\"col\">precision</th><th scope=\"col\" "
      "class=\"num\">batch</th>{}</tr></thead>",
      with_device ? "<th scope=\"col\">device</th>" : "");
  for (const Row& row : rows) {
    if (row.rows_of_model > 0) {
      html += fmt::format("{}<tbody><tr><th scope=\"rowgroup\" rowspan=\"{}\">{}</th>", &row == rows.data() ? "" : "</tbody>",
                          row.rows_of_model, html_escaped(row.model));
    } else {
      html += "<tr>";
    }
    html += cell(row, with_device) + "</tr>";
  }
  html += "</tbody></table></div>";
  return html + left_out_note(left_out, "more model is in the table of points", "more models are in the table of points");
}

std::string best_table_markdown(const View& view) {
  size_t left_out = 0;
  const std::vector<Row> rows = rows_of(view, left_out);
  if (rows.empty()) return {};
  const bool with_device = device_varies(rows);
  std::string text = fmt::format("| model | best | value | engine | precision | batch |{}\n| --- | --- | ---: | --- | --- | ---: |{}\n",
                                 with_device ? " device |" : "", with_device ? " --- |" : "");
  for (const Row& row : rows) {
    const std::string value = row.interval.empty() ? row.value : fmt::format("{} ({})", row.value, row.interval);
    text += fmt::format("| {} | {} | {} | {} | {} | {} |", markdown_escaped(row.model), row.best, markdown_escaped(value),
                        markdown_escaped(row.engine), markdown_escaped(row.precision), row.batch);
    if (with_device) text += " " + markdown_escaped(row.device) + " |";
    text += "\n";
  }
  if (left_out > 0) text += fmt::format("\n{} more models are in the table of points.\n", left_out);
  return text + "\n";
}

}  // namespace deepgap
