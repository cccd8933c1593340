// The charts of fronts that were asked for: any two metrics against each other, within limits on others.
#include "report/front_figure.h"
#include "report/html.h"
#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

using Pair = std::pair<GoalMetric, GoalMetric>;

std::string limits_words(const FrontOrder& order) {
  std::string words;
  for (const MetricLimit& limit : order.limits) words += (words.empty() ? "" : " and ") + limit.words;
  return words.empty() ? "" : ", of points with " + words;
}

struct Member {
  const Line* line;
  const PointSummary* point;
};

// Returns the front from the one end to the other by the first metric.
std::vector<Member> front_of(const Choosable& from, const Pair& pair) {
  const GoalMetric goals[] = {pair.first, pair.second};
  std::vector<const PointSummary*> points;
  std::map<const PointSummary*, const Line*> lines;
  for (const auto& [line, point] : from.points) {
    points.push_back(point);
    lines.emplace(point, line);
  }
  std::vector<Member> members;
  for (const PointSummary* point : pareto_front(points, goals)) members.push_back({lines.at(point), point});
  std::stable_sort(members.begin(), members.end(), [&](const Member& a, const Member& b) {
    return a.point->find(pair.first.metric)->estimate.value < b.point->find(pair.first.metric)->estimate.value;
  });
  return members;
}

std::string none_words(const Pair& pair, const FrontOrder& order) {
  return fmt::format("No point has both {} and {}{}.", pair.first.metric, pair.second.metric, limits_words(order));
}

}  // namespace

std::string fronts_section(const View& view, const FrontOrder& order) {
  if (order.pairs.empty()) return {};
  std::string html = "<section id=\"fronts\"><h2>Pareto fronts</h2>";
  for (const Workload& workload : view.workloads) {
    const Choosable from = within(choosable(workload), order.limits);
    html += "<h3>" + html_escaped(heading_of(workload)) + "</h3>";
    std::string figures;
    for (const Pair& pair : order.pairs) {
      const std::string figure = front_figure(workload, from, pair.first, pair.second, view.results.currency);
      const std::vector<Member> front = front_of(from, pair);
      if (front.empty()) html += "<p class=\"aside\">" + html_escaped(none_words(pair, order)) + "</p>";
      figures += figure;
      if (!figure.empty() || front.empty()) continue;
      html += fmt::format("<p class=\"aside\">Too few points have {} and {}{} for a figure; no point beats {}.</p>",
                          html_escaped(pair.first.metric), html_escaped(pair.second.metric), html_escaped(limits_words(order)),
                          html_escaped(label_with_batch(*front[0].line, *front[0].point)));
    }
    if (!figures.empty()) {
      const std::string limits = limits_words(order);
      html += (limits.empty() ? "" : "<p class=\"aside\">" + html_escaped(limits.substr(2)) + "</p>") + "<div class=\"charts\">" + figures +
              "</div>";
    }
  }
  return html + "</section>\n";
}

std::string fronts_markdown(const View& view, const FrontOrder& order) {
  std::string text;
  for (const Workload& workload : view.workloads) {
    const Choosable from = within(choosable(workload), order.limits);
    for (const Pair& pair : order.pairs) {
      text += fmt::format("### {}: {} and {}{}\n\n", markdown_escaped(heading_of(workload)), pair.first.metric, pair.second.metric,
                          markdown_escaped(limits_words(order)));
      const std::vector<Member> front = front_of(from, pair);
      if (front.empty()) text += markdown_escaped(none_words(pair, order)) + "\n";
      if (!front.empty()) text += fmt::format("| Pareto front | {} | {} |\n| --- | ---: | ---: |\n", pair.first.metric, pair.second.metric);
      for (const Member& member : front) {
        text += fmt::format("| {} | {} | {} |\n", markdown_escaped(label_with_batch(*member.line, *member.point)),
                            markdown_escaped(value_text(pair.first, *member.point, view.results.currency)),
                            markdown_escaped(value_text(pair.second, *member.point, view.results.currency)));
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace deepgap
