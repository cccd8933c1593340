#include "analysis/compare/compare_results.h"

#include "analysis/metric.h"
#include "base/messages.h"
#include "record/dataset_hash.h"
#include "record/duel_set.h"
#include "record/momentary.h"
#include "record/point_axis.h"
#include "stats/multiple.h"
#include "stats/non_inferiority.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace deepgap {
namespace {

// The Point without the axes that need not be the same.
Point match_key(Point point, const std::set<std::string>& differing) {
  point.model_hash.clear();
  point.options.erase(dataset_hash_option);
  for (const std::string& axis : differing) forget_axis(point, axis);
  // Contenders of one duel are what is compared, whichever place they have in it.
  if (contender_place(point)) point.options.erase("contender");
  return point;
}

std::map<Point, std::vector<const PointSummary*>> by_key(const Results& results, const std::set<std::string>& differing) {
  std::map<Point, std::vector<const PointSummary*>> points;
  for (const PointSummary& point : results.points) points[match_key(point.point, differing)].push_back(&point);
  return points;
}

// The one of the other's device, else the only one there is.
const PointSummary* partner(const PointSummary& of, const std::vector<const PointSummary*>& among) {
  const auto same = std::find_if(among.begin(), among.end(), [&](const auto* p) { return p->identity.device == of.identity.device; });
  if (same != among.end()) return *same;
  return among.size() == 1 ? among.front() : nullptr;
}

// Returns true if both ran on one node each, both name it, and the names differ.
bool other_node(const PointSummary& a, const PointSummary& b) {
  const auto tells_one = [](const PointSummary& point) { return point.nodes.size() == 1 && point.nodes.begin()->first != 0; };
  return tells_one(a) && tells_one(b) && a.nodes != b.nodes;
}

bool share_a_run(const PointSummary& a, const PointSummary& b) {
  return std::any_of(a.runs.begin(), a.runs.end(), [&](const std::string& run) { return b.runs.contains(run); });
}

bool is_lower_better(const std::string& metric) { return find_metric(metric)->better == Better::lower; }

// Returns how much better b does, as a ratio above 1.
RepeatsRatio gain_of(RepeatsRatio ratio, bool lower_is_better) {
  if (lower_is_better) ratio.ratio = 1 / ratio.ratio;
  return ratio;
}
RepeatsRatio gain_of(const PointChange& change, bool lower_is_better) { return gain_of(change.comparison.repeats, lower_is_better); }

void judge(std::vector<PointChange>& points, const CompareSettings& settings) {
  std::vector<double> p_values;
  for (const PointChange& point : points) p_values.push_back(point.comparison.repeats.p_value());
  const std::vector<double> adjusted = benjamini_hochberg_adjusted(p_values);
  for (size_t i = 0; i < points.size(); ++i) {
    PointChange& point = points[i];
    const RepeatsRatio gain = gain_of(point, is_lower_better(settings.metric));
    const Difference alone = difference(gain, settings.margin);
    if (alone == Difference::same) {
      point.change = Change::same;
    } else if (alone != Difference::unknown && adjusted[i] < 1 - default_confidence) {
      point.change = alone == Difference::more ? Change::faster : Change::slower;
    }
    const bool of_turns = contender_place(point.a->point).has_value();  // they were not repeats
    point.needs_repeats = point.change == Change::unknown && !of_turns ? repeats_needed(gain, settings.margin) : 0;
    point.smallest_effect = smallest_effect(gain);
  }
}

// The geometric mean of all points in each repeat that all of them have: what moved a whole repeat counts once, not once a point.
std::vector<RepeatValue> means_of_repeats(const std::vector<PointChange>& points, const PointSummary* PointChange::*side,
                                          const std::string& metric) {
  struct Sum {
    size_t count = 0;
    double logs = 0, variance = 0;
    std::set<uint64_t> nodes;
  };
  std::map<uint64_t, Sum> blocks;
  for (const PointChange& point : points) {
    for (const RepeatValue& value : (point.*side)->find(metric)->repeats) {
      Sum& sum = blocks[value.block];
      ++sum.count;
      sum.logs += std::log(value.value);
      sum.variance += value.variance / (value.value * value.value);
      sum.nodes.insert(value.node);
    }
  }
  std::vector<RepeatValue> means;
  const auto count = static_cast<double>(points.size());
  for (const auto& [block, sum] : blocks) {
    if (sum.count != points.size() || sum.nodes.size() != 1) continue;
    const double mean = std::exp(sum.logs / count);
    means.push_back({block, mean, mean * mean * sum.variance / (count * count), *sum.nodes.begin()});
  }
  return means;
}

std::optional<RepeatsRatio> ratio_of_all(const std::vector<PointChange>& points, const std::string& metric) {
  const auto of_turns = [](const PointChange& point) { return contender_place(point.a->point).has_value(); };  // they were not repeats
  if (points.size() < 2 || std::any_of(points.begin(), points.end(), of_turns)) return std::nullopt;
  auto ratio = ratio_of_repeats(means_of_repeats(points, &PointChange::b, metric), means_of_repeats(points, &PointChange::a, metric));
  if (!ratio || !ratio->known()) return std::nullopt;
  const auto by_looks = [](const PointChange& point) { return point.a->stopping.auto_repeats || point.b->stopping.auto_repeats; };
  if (std::any_of(points.begin(), points.end(), by_looks)) ratio->log_error *= ended_by_looks;
  return ratio;
}

std::vector<std::pair<std::string, std::pair<std::string, std::string>>> differing_facts(const Results& a, const Results& b) {
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> facts;
  for (const auto& [key, values] : a.environment) {
    const std::string first = only_value(a.environment, key), second = only_value(b.environment, key);
    if (is_momentary(key) || first.empty() || second.empty() || first == second) continue;
    facts.push_back({key, {first, second}});
  }
  return facts;
}

// Returns how many repeats would give the gate an answer. At the ratios seen it is "slower" where one of them is beyond the limit, which
// one point alone shows, at the level that Holm leaves it, or the mean of all; else all that are open have to be shown to hold. 0 where
// that is not known of one of them, or where points are left out, which no number of repeats brings back.
size_t repeats_to_decide(const ResultsComparison& comparison, const GateResult& result, bool lower_is_better, double limit) {
  const double false_alarms = 1 - default_confidence;
  std::vector<size_t> slower, held;
  bool is_known = result.left_out == 0;
  const double of_points = false_alarms / (result.together ? 2 : 1) / static_cast<double>(comparison.points.size());
  for (const PointChange* point : result.open) {
    const RepeatsRatio gain = gain_of(*point, lower_is_better);
    if (!gain.known() || contender_place(point->a->point)) {  // turns were not repeats
      is_known = false;
    } else if (gain.ratio < limit) {
      slower.push_back(repeats_to_tell(gain, limit, 1 - of_points));
    } else {
      held.push_back(repeats_to_tell(gain, limit));
    }
  }
  if (result.together) {
    const RepeatsRatio gain = gain_of(*result.together, lower_is_better);
    if (gain.known() && gain.ratio < limit) slower.push_back(repeats_to_tell(gain, limit, 1 - false_alarms / 2));
  }
  if (!slower.empty()) return *std::min_element(slower.begin(), slower.end());
  return !is_known || held.empty() ? 0 : *std::max_element(held.begin(), held.end());
}

}  // namespace

const char* name_of(Change change) {
  switch (change) {
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::same:
      return "same";
    case Change::unknown:
      return "unknown";
  }
  return "unknown";
}

ResultsComparison compare_results(const Results& a, const Results& b, const CompareSettings& settings) {
  const Metric* metric = find_metric(settings.metric);
  if (metric == nullptr || metric->better == Better::neither)
    throw Error(ErrorKind::usage,
                invalid_value(settings.metric, "--metric", "a metric that is better high or low, such as throughput or latency_p99_ms"));
  ResultsComparison found;
  found.environment = differing_facts(a, b);
  auto others = by_key(b, settings.differing);
  std::set<const PointSummary*> taken;
  for (const auto& [key, points] : by_key(a, settings.differing)) {
    const auto candidates = others.find(key);
    for (const PointSummary* point : points) {
      const PointSummary* other = candidates == others.end() ? nullptr : partner(*point, candidates->second);
      if (other == nullptr || !taken.insert(other).second) {
        found.only_a.push_back(point);
        continue;
      }
      if (settings.metric == "throughput" && point->offers_load() && other->offers_load()) {
        ++found.offered;
        continue;
      }
      const auto comparison =
          point->usable() && other->usable() ? compare_points(*other, *point, settings.metric) : std::optional<Comparison>();
      if (!comparison) {
        found.unusable.emplace_back(point, other);
        continue;
      }
      const bool other_device = point->identity.device != other->identity.device;
      found.points.push_back({point, other, *comparison, Change::unknown, 0, 0, other_device, !other_device && other_node(*point, *other),
                              !share_a_run(*point, *other)});
    }
  }
  for (const PointSummary& point : b.points) {
    if (!taken.contains(&point)) found.only_b.push_back(&point);
  }
  judge(found.points, settings);
  return found;
}

GateResult judge_gate(const ResultsComparison& comparison, const CompareSettings& settings, double margin) {
  const bool lower = is_lower_better(settings.metric);
  const double limit = 1 / (1 + margin), false_alarms = 1 - default_confidence;
  GateResult result{.margin = margin, .left_out = comparison.offered + comparison.unusable.size()};
  result.together = ratio_of_all(comparison.points, settings.metric);
  result.together_slower = result.together && p_value_below(gain_of(*result.together, lower), limit) < false_alarms / 2;
  const double of_points = result.together && !result.together_slower ? false_alarms / 2 : false_alarms;
  std::vector<double> p_values;
  for (const PointChange& point : comparison.points) p_values.push_back(p_value_below(gain_of(point, lower), limit));
  const std::vector<double> adjusted = holm_adjusted(p_values);
  for (size_t i = 0; i < comparison.points.size(); ++i) {
    const PointChange& point = comparison.points[i];
    const RepeatsRatio gain = gain_of(point, lower);
    if (adjusted[i] < of_points) {
      result.slower.push_back(&point);
    } else if (!gain.known() || gain.interval(2 * default_confidence - 1).low <= limit) {
      result.open.push_back(&point);
    }
  }
  if (!result.slower.empty() || result.together_slower) {
    result.gate = Gate::slower;
  } else if (!result.open.empty() || result.left_out > 0) {
    result.gate = Gate::not_enough_data;
    result.needs_repeats = repeats_to_decide(comparison, result, lower, limit);
  }
  return result;
}

}  // namespace deepgap
