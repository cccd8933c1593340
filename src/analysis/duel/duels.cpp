#include "analysis/duel/duels.h"

#include "analysis/aspects.h"
#include "analysis/duel/arm.h"
#include "analysis/duel/undisturbed_ratio.h"
#include "base/text.h"
#include "record/duel_set.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace deepgap {
namespace {

std::string words_of(const DuelOutcome& outcome, const DuelFound& duel) {
  const PointSummary& point = *outcome.point;
  const bool is_own = duel.of_contenders;  // its reason is about the comparison
  if (!is_own && point.used == 1 && !point.interleaved.result.empty()) return fmt::format("{}: {}", outcome.name, point.interleaved.result);
  if (is_own && !outcome.known && !point.reason.empty()) return fmt::format("{}: {}", outcome.name, point.reason);
  // One start that is not settled says itself why.
  if (is_own && point.used == 1 && outcome.standing.difference == Difference::unknown && !point.reason.empty())
    return fmt::format("{}: {}", outcome.name, point.reason);
  std::string words = fmt::format("{}: {}", outcome.name, duel_words(outcome.standing, duel.first_name, duel.margin));
  if (point.used > 1) words += fmt::format(", over {} starts", point.used);
  return words;
}

// It stands beside what whole slices show, and decides where they do not.
void add_undisturbed(const Estimate& ratio, double margin, DuelOutcome& outcome) {
  outcome.words += "; " + undisturbed_words(ratio);
  if (outcome.standing.difference == Difference::unknown && ratio.low && ratio.high)
    outcome.standing.difference = difference_of({*ratio.low, *ratio.high}, margin);
}

DuelOutcome outcome_of(const PointSummary& point, const DuelFound& duel) {
  DuelOutcome outcome{&point, arm_of(point)->name, false, {}, 0, {}};
  outcome.standing.resolution = Resolution::too_short;
  if (const MetricSummary* ratio = point.find("duel_ratio")) {
    const Estimate& estimate = ratio->estimate;
    outcome.known = true;
    outcome.standing.resolution = Resolution::resolved;
    outcome.standing.ratio = estimate.value;
    outcome.standing.pairs = estimate.n;
    if (estimate.low && estimate.high && *estimate.low > 0) {
      outcome.standing.interval = Interval{*estimate.low, *estimate.high};
      // The verdict of one start knows more than its interval: whether the ratio moved.
      const bool decided = !duel.of_contenders || point.used > 1 || point.verdict == Verdict::valid;
      if (decided) outcome.standing.difference = difference_of(*outcome.standing.interval, duel.margin);
    }
  }
  if (const MetricSummary* needs = point.find("duel_needs_s")) outcome.needs_s = needs->estimate.value;
  outcome.words = words_of(outcome, duel);
  if (const MetricSummary* undisturbed = point.find(undisturbed_ratio_metric)) add_undisturbed(undisturbed->estimate, duel.margin, outcome);
  return outcome;
}

// Returns what all contenders share, and who they are.
Aspects duel_aspects(const DuelFound& duel, const DeviceNames& devices) {
  PointSummary common = *duel.first;
  common.point = arm_of(common)->common;
  Aspects aspects = all_aspects(common, devices);
  if (duel.axis == "device") aspects.erase("1 device");
  aspects["9 duel"] = option_of(common.point, duel.of_contenders ? "duel" : "interleaved");
  return aspects;
}

void tell_apart(std::vector<DuelFound>& duels) {
  DeviceNames devices;
  for (const DuelFound& duel : duels) devices.add(*duel.first);
  std::map<std::string, Varying> alike;
  for (const DuelFound& duel : duels) alike[duel.label()].add(duel_aspects(duel, devices));
  for (DuelFound& duel : duels) {
    const Aspects aspects = duel_aspects(duel, devices);
    std::vector<std::string> details;
    for (const std::string& name : alike.at(duel.label()).names()) {
      const auto aspect = aspects.find(name);
      if (aspect != aspects.end() && !aspect->second.empty()) details.push_back(aspect->second);
    }
    duel.details = std::move(details);
  }
}

}  // namespace

std::string DuelFound::label() const {
  const Point& point = first->point;
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::string& text) {
    if (axis != name) parts.push_back(text);
  };
  add("model", point.model);
  add("backend", point.backend);
  add("precision", std::string(name_of(point.precision)));
  add("batch", fmt::format("batch {}", point.batch));
  if (point.placement != Placement{}) add("device", placement_name(point.placement));
  add("threads", threads_text(point));
  parts.insert(parts.end(), details.begin(), details.end());
  return join(parts, ", ");
}

std::vector<DuelFound> duels_of(std::span<const PointSummary> points) {
  std::vector<std::pair<Point, std::string>> order;
  std::map<std::pair<Point, std::string>, std::vector<const PointSummary*>> sets;
  for (const PointSummary& point : points) {
    const auto arm = arm_of(point);
    if (!arm) continue;
    std::pair<Point, std::string> key{arm->common, arm->axis == "device" ? "" : point.identity.device};
    if (!sets.contains(key)) order.push_back(key);
    sets[key].push_back(&point);
  }
  std::vector<DuelFound> duels;
  for (const auto& key : order) {
    std::vector<const PointSummary*>& set = sets.at(key);
    std::stable_sort(set.begin(), set.end(),
                     [](const PointSummary* a, const PointSummary* b) { return arm_of(*a)->number < arm_of(*b)->number; });
    const PointSummary& first = *set.front();
    const Arm arm = *arm_of(first);
    if (arm.number != 1 || (!arm.is_contender && set.size() < 2)) continue;
    DuelFound& duel = duels.emplace_back(DuelFound{&first, arm.axis, arm.name, arm.margin, arm.is_contender, {}, {}});
    for (size_t i = 1; i < set.size(); ++i) {
      DuelOutcome outcome = outcome_of(*set[i], duel);
      const bool by_repeats = !duel.of_contenders && !outcome.known && set[i]->used > 1;
      if (!by_repeats) duel.others.push_back(std::move(outcome));
    }
    if (duel.others.empty() && !duel.of_contenders) duels.pop_back();
  }
  tell_apart(duels);
  return duels;
}

const char* name_of(Difference difference) {
  switch (difference) {
    case Difference::more:
      return "faster";
    case Difference::less:
      return "slower";
    case Difference::same:
      return "same";
    case Difference::unknown:
      break;
  }
  return "unknown";
}

}  // namespace deepgap
