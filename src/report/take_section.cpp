// Shows what to take: the best by each goal, what nothing beats, what it costs, and from which rate on another device is the cheaper one.
#include "record/verdict.h"
#include "report/chart.h"
#include "report/front_figure.h"
#include "report/html.h"
#include "report/page.h"
#include "report/sections.h"

#include "analysis/cost/prices.h"
#include "analysis/decide/pareto.h"
#include "analysis/ratio_text.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace deepgap {
namespace {

std::string next_text(const BestByGoal& row) {
  if (row.next == nullptr) return "";
  std::string label = label_with_batch(*row.next_line, *row.next);
  if (!row.over_next) return label;
  const bool open = row.over_next->interval && !row.over_next->separable();
  const double times = row.goal->better == Better::lower ? 1 / row.over_next->ratio : row.over_next->ratio;
  constexpr double alike = 1.005;
  if (times < alike) return label + ", as good";
  return open ? label + ", without significant difference from it" : fmt::format("{}, {} times worse", label, ratio_beside_one(times));
}

std::string table(const std::vector<BestByGoal>& rows, const std::string& currency) {
  std::string html =
      "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">For</th><th scope=\"col\">take</th><th scope=\"col\" "
      "class=\"num\">which has</th></tr></thead><tbody>\n";
  for (const BestByGoal& row : rows) {
    const std::string interval = interval_text(*row.goal, *row.point, currency), next = next_text(row);
    html += fmt::format("<tr><td>{}</td><td>{}<small>{}</small></td><td class=\"num\">{}<small>{}</small></td></tr>\n",
                        html_escaped(row.goal->words), html_escaped(label_with_batch(*row.line, *row.point)),
                        next.empty() ? "" : "next: " + html_escaped(next), html_escaped(value_text(*row.goal, *row.point, currency)),
                        html_escaped(interval));
  }
  return html + "</tbody></table></div>";
}

// One line for each way of running, its cheapest Points as they are.
std::string cost_figure(const View& view, const Workload& workload) {
  size_t left_out = 0;
  Chart chart{workload.label + ": cost against batch",
              {"Batch (samples a query)", Scale::log2, {}},
              {"Cost of 1000 items (" + view.results.currency + ")", Scale::log10, {}},
              {}};
  std::set<double> batches;
  for (const ShownLine& shown : shown_lines(view, workload, left_out)) {
    ChartLine line{shown.line->label, shown.style, false, {}, shown.line->key.backend, std::string(name_of(shown.line->key.precision))};
    for (const PointSummary* point : shown.line->points) {
      const MetricSummary* cost = point->usable() ? point->find("cost_per_1000_items") : nullptr;
      if (cost == nullptr || point->point.batch < 1) continue;
      ChartPoint drawn;
      drawn.x = static_cast<double>(point->point.batch);
      drawn.y = cost->estimate.value;
      drawn.y_low = cost->estimate.low;
      drawn.y_high = cost->estimate.high;
      drawn.hollow = !is_sound(point->verdict);
      drawn.tip = fmt::format("{}\n{} {} for 1000 items", label_with_batch(*shown.line, *point), format_estimate(cost->estimate),
                              view.results.currency);
      line.points.push_back(drawn);
      batches.insert(drawn.x);
    }
    if (!line.points.empty()) chart.lines.push_back(std::move(line));
  }
  chart.x.wanted_ticks = {batches.begin(), batches.end()};
  return batches.size() < 2 ? "" : chart_figure("Cost against batch", "lower is better", chart);
}

struct Carrier {
  std::string label;
  double throughput = 0, per_hour = 0;
  double per_item() const { return per_hour / throughput; }
};

// The cheapest Point of each device, whole devices being taken for a rate.
std::string break_even_figure(const View& view, const Workload& workload, const Choosable& from) {
  std::map<std::string, Carrier> carriers;
  for (const auto& [line, point] : from.points) {
    const MetricSummary *throughput = point->find("throughput"), *hourly = point->find("cost_per_hour");
    if (throughput == nullptr || hourly == nullptr || !(throughput->estimate.value > 0)) continue;
    const Carrier carrier{line->device_label, throughput->estimate.value, hourly->estimate.value};
    Carrier& kept = carriers[line->device_label];
    if (kept.throughput == 0 || carrier.per_item() < kept.per_item()) kept = carrier;
  }
  if (carriers.size() < 2 || carriers.size() > report_caps.lines) return {};
  double least = INFINITY, most = 0;
  for (const auto& [label, carrier] : carriers) {
    least = std::min(least, carrier.throughput);
    most = std::max(most, carrier.throughput);
  }
  Chart chart{workload.label + ": cost a month against rate",
              {"Rate (items/s)", Scale::log10, {}},
              {"Cost a month (" + view.results.currency + ")", Scale::log10, {}},
              {}};
  for (const auto& [label, carrier] : carriers) {
    ChartLine line{label, static_cast<int>(chart.lines.size()), false, {}};
    constexpr int steps = 16;
    for (int step = 0; step <= steps; ++step) {
      ChartPoint drawn;
      drawn.x = least / 4 * std::pow(16 * most / least, static_cast<double>(step) / steps);
      const double devices = std::ceil(drawn.x / carrier.throughput);
      drawn.y = devices * carrier.per_hour * hours_per_month;
      drawn.tip = fmt::format("{} of {}\n{} items/s\n{} {} a month", format_count(static_cast<int64_t>(devices)), label,
                              format_significant(drawn.x), format_significant(drawn.y, 4), view.results.currency);
      line.points.push_back(drawn);
    }
    chart.lines.push_back(std::move(line));
  }
  return chart_figure("Cost a month against rate", "whole devices, full to their throughput; a latency SLO takes more", chart);
}

std::string workload_part(const View& view, const Workload& workload) {
  const std::vector<BestByGoal> rows = best_by_goal(workload);
  if (rows.empty()) return {};
  const Choosable from = choosable(workload);
  const auto& goals = goal_metrics();
  const std::string& currency = view.results.currency;
  std::string html = "<h3>" + html_escaped(heading_of(workload)) + "</h3>";
  if (!from.all_trusted) html += "<p class=\"aside\">No valid, checked point was measured here, so these come from all points.</p>";
  html += table(rows, currency);
  const std::string figures =
      front_figure(workload, from, goals[1], goals[0], currency) + front_figure(workload, from, goals[1], goals[3], currency) +
      front_figure(workload, from, goals[0], goals[2], currency) + cost_figure(view, workload) + break_even_figure(view, workload, from);
  return html + (figures.empty() ? "" : "<div class=\"charts\">" + figures + "</div>");
}

}  // namespace

std::string take_section(const View& view) {
  std::string parts;
  size_t shown = 0, left_out = 0;
  for (const Workload& workload : view.workloads) {
    if (shown == report_caps.workloads) {
      left_out += best_by_goal(workload).empty() ? 0 : 1;
      continue;
    }
    const std::string part = workload_part(view, workload);
    shown += part.empty() ? 0 : 1;
    parts += part;
  }
  if (parts.empty()) return {};
  parts += left_out_note(left_out, "more model is left out", "more models are left out");
  return "<section id=\"take\"><h2>Recommendations</h2><p class=\"aside\">The best by each goal, among points that were measured here, "
         "checked and stable. With a rate, an SLO or a budget: <code>deepgap recommend</code>.</p>" +
         parts + "</section>\n";
}

std::string take_markdown(const View& view) {
  std::string text;
  for (const Workload& workload : view.workloads) {
    const std::vector<BestByGoal> rows = best_by_goal(workload);
    if (rows.empty()) continue;
    text += "### " + markdown_escaped(heading_of(workload)) + "\n\n| for | take | which has | next is |\n| --- | --- | ---: | --- |\n";
    for (const BestByGoal& row : rows) {
      const std::string interval = format_interval(*row.point->find(row.goal->metric));
      text += fmt::format("| {} | {} | {}{} | {} |\n", markdown_escaped(row.goal->words),
                          markdown_escaped(label_with_batch(*row.line, *row.point)),
                          markdown_escaped(value_text(*row.goal, *row.point, view.results.currency)),
                          interval.empty() ? "" : " (" + interval + ")", markdown_escaped(next_text(row)));
    }
    text += "\n";
  }
  return text;
}

}  // namespace deepgap
