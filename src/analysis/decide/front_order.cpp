#include "analysis/decide/front_order.h"

#include "base/messages.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

GoalMetric goal_of(const std::string& name) {
  for (const GoalMetric& goal : goal_metrics()) {
    if (goal.metric == name) return goal;
  }
  if (const Metric* metric = find_metric(name)) return {name, metric->better, name};
  std::vector<std::string> known;
  for (const GoalMetric& goal : goal_metrics()) known.push_back(goal.metric);
  for (const Metric& metric : all_metrics()) known.push_back(metric.id);
  throw Error(ErrorKind::usage, unknown_name("metric", name, known));
}

std::pair<GoalMetric, GoalMetric> parse_pair(const std::string& text) {
  const std::vector<std::string> names = split(text, ',');
  if (names.size() != 2 || trim(names[0]) == trim(names[1]))
    throw Error(ErrorKind::usage, invalid_value(text, "--pareto", "two metrics, such as latency_p99_ms,throughput"));
  return {goal_of(std::string(trim(names[0]))), goal_of(std::string(trim(names[1])))};
}

MetricLimit parse_limit(const std::string& text) {
  const size_t at = text.find_first_of("<>");
  const bool whole = at != std::string::npos && at + 1 < text.size() && text[at + 1] == '=';
  std::string number = whole ? std::string(trim(text.substr(at + 2))) : "";
  const bool percent = number.ends_with('%');
  if (percent) number.pop_back();
  const auto value = parse_double(number);
  if (!whole || !value)
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for --within: expected metric<=number or metric>=number, several joined by ';'", text));
  const GoalMetric goal = goal_of(std::string(trim(text.substr(0, at))));
  return {goal.metric, text[at] == '<', percent ? *value / 100 : *value, text};
}

}  // namespace

bool MetricLimit::holds(const PointSummary& point) const {
  const MetricSummary* found = point.find(metric);
  if (found == nullptr) return false;
  const Estimate& estimate = found->estimate;
  return at_most ? estimate.high.value_or(estimate.value) <= value : estimate.low.value_or(estimate.value) >= value;
}

FrontOrder parse_front_order(const std::vector<std::string>& pairs, const std::string& limits) {
  FrontOrder order;
  for (const std::string& pair : pairs) order.pairs.push_back(parse_pair(pair));
  if (!limits.empty() && pairs.empty()) throw Error(ErrorKind::usage, "--within limits the fronts of --pareto: give both");
  for (const std::string& limit : limits.empty() ? std::vector<std::string>() : split(limits, ';'))
    order.limits.push_back(parse_limit(std::string(trim(limit))));
  return order;
}

Choosable within(const Choosable& from, const std::vector<MetricLimit>& limits) {
  Choosable kept = from;
  std::erase_if(kept.points, [&](const auto& chosen) {
    return !std::all_of(limits.begin(), limits.end(), [&](const MetricLimit& limit) { return limit.holds(*chosen.second); });
  });
  return kept;
}

}  // namespace deepgap
