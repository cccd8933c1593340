#include "analysis/point_verdict.h"

#include "analysis/combine_repeats.h"
#include "analysis/latency_percentile.h"
#include "analysis/pooled_bound.h"
#include "analysis/words.h"
#include "base/quantity.h"
#include "record/averaged.h"
#include "record/latency_percentiles.h"
#include "record/point_option.h"
#include "record/published.h"
#include "record/record_json.h"
#include "record/verdict.h"
#include "stats/interval.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

namespace deepgap {
namespace {

// Stores of before the fact have it in words: "throughput +-3.1% at the budget of 30 s, asked 1%", and whatever else there is behind "; ".
bool is_only_wide(const Record& record) {
  if (record.verdict != Verdict::unstable) return false;
  if (const auto fact = record.facts.find(wide_interval_fact); fact != record.facts.end()) return fact->second == Fact(true);
  return record.reason.starts_with(record.stopping.target + " +-") && record.reason.find("; ") == std::string::npos;
}

const std::string& reason_of_verdict(const std::vector<OutcomeCount>& outcomes, Verdict verdict) {
  static const std::string none;
  for (const OutcomeCount& seen : outcomes) {
    if (seen.outcome == Outcome::ok && seen.verdict == verdict) return seen.reason;
  }
  return none;
}

Verdict verdict_of(const RepeatVerdicts& repeats) {
  if (repeats.invalid * 2 >= repeats.records) return Verdict::invalid;
  if (repeats.undecided * 2 >= repeats.records) return Verdict::undecided;
  if (repeats.unstable + repeats.undecided + repeats.invalid > 0) return Verdict::unstable;
  return repeats.as_found > 0 ? Verdict::as_found : Verdict::valid;
}

// Returns the reason for the verdict; where the repeats of a Point disagree, the reason says so.
std::string reason_of(const std::vector<OutcomeCount>& outcomes, const RepeatVerdicts& repeats, Verdict verdict) {
  const Verdict worst = repeats.invalid > 0 ? Verdict::invalid : Verdict::undecided;
  const int64_t count = repeats.invalid > 0 ? repeats.invalid : repeats.undecided;
  if (count == 0 || count == repeats.records) return reason_of_verdict(outcomes, verdict);
  return fmt::format("{} of {} repeats {}: {}", count, repeats.records, name_of(worst), reason_of_verdict(outcomes, worst));
}

// The queries of all repeats together hold the bound, but repeats differ so much that the percentile's interval over them reaches beyond.
void doubt_held_bound(PointSummary& summary) {
  const auto bound = latency_bound_from(option_of(summary.point, "bound"));
  const MetricSummary* latency = summary.find(latency_percentile_column(bound->percent));
  if (latency == nullptr || !latency->over_repeats || is_of_two(*latency) || !latency->estimate.high) return;
  if (*latency->estimate.high <= static_cast<double>(bound->limit) / 1e6) return;
  summary.verdict = Verdict::undecided;
  summary.reason = fmt::format("{} CI {} ms over {}, beyond the SLO {}; measure more repeats", percentile_name(*bound),
                               format_interval(latency->estimate, static_cast<double>(bound->limit) / 1e6),
                               count_of(summary.used, "repeat", "repeats"), bound->text);
}

// If no repeat alone was shown to miss the bound, judges the queries of all of them together.
void judge_pooled_bound(PointSummary& summary, const RepeatVerdicts& repeats, std::span<const Estimate> missed) {
  if (static_cast<int64_t>(missed.size()) != repeats.records) return;
  const auto pooled = pooled_bound(summary.point, missed);
  if (!pooled || (repeats.invalid > 0 && pooled->answer != BoundAnswer::missed)) return;
  summary.pooled = true;
  if (pooled->answer == BoundAnswer::held) {
    summary.verdict = repeats.unstable > 0 ? Verdict::unstable : Verdict::valid;
    summary.reason = reason_of_verdict(summary.outcomes, summary.verdict);
    if (summary.verdict == Verdict::valid) doubt_held_bound(summary);
  } else {
    summary.verdict = pooled->answer == BoundAnswer::missed ? Verdict::invalid : Verdict::undecided;
    summary.reason = pooled->words;
  }
}

// Returns the relative half-width that the interval over the repeats should have; 0: none is asked. For a Point with a latency bound, the
// bound is what is asked, and the throughput of an open loop is the load that was offered.
double asked_of_repeats(const PointSummary& summary) {
  const StoppingSettings& stopping = summary.stopping;
  if (is_published(summary.point) || is_averaged(summary.point)) return 0;  // it was judged where the repeats are
  if (stopping.asked_of_all > 0) return stopping.asked_of_all;
  if (stopping.name != "interval" || summary.used < 2 || !option_of(summary.point, "bound").empty()) return 0;
  return summary.offers_load() && stopping.target == "throughput" ? 0 : stopping.interval;
}

double relative_half_width(const Estimate& estimate) {
  if (!estimate.low || !estimate.high || !(estimate.value > 0)) return std::numeric_limits<double>::infinity();
  return half_width_of(estimate) / estimate.value;
}

void judge_interval(PointSummary& summary, const RepeatVerdicts& repeats) {
  const double asked = asked_of_repeats(summary);
  const std::string& target = summary.stopping.target;
  const MetricSummary* found = summary.find(metric_of_target(target));
  if (asked <= 0 || found == nullptr || repeats.invalid + repeats.undecided > 0) return;
  if (repeats.unsteady() * 2 >= repeats.records) {
    summary.verdict = Verdict::unstable;
    summary.reason = repeats.records == 1
                         ? repeats.unsteady_reason
                         : fmt::format("{} of {} repeats: {}", repeats.unsteady(), repeats.records, repeats.unsteady_reason);
    return;
  }
  constexpr double rounding = 1e-9;
  const double width = relative_half_width(found->estimate);
  if (summary.used > 1 && width <= asked * (1 + rounding)) {
    // Windows of later repeats may be short, where enough of the others were not.
    const bool long_enough = summary.stopping.auto_repeats && repeats.records - repeats.as_found >= fewest_auto_repeats;
    summary.verdict = repeats.as_found > 0 && !long_enough ? Verdict::as_found : Verdict::valid;
    summary.reason.clear();
    return;
  }
  summary.verdict = Verdict::unstable;
  const bool is_noisy = std::isfinite(width) && width > 1;
  summary.reason = fmt::format("{} {}{} over {} (target ±{})", target, is_noisy ? "" : "CI ", plus_minus_text(width, asked),
                               count_of(summary.used, "repeat", "repeats"), chosen_percent_text(asked));
}

}  // namespace

bool is_judged_by_interval(const PointSummary& summary) {
  return summary.outcome == Outcome::ok && summary.used > 1 && asked_of_repeats(summary) > 0;
}

void RepeatVerdicts::add(const Record& record) {
  ++records;
  as_found += record.verdict == Verdict::as_found ? 1 : 0;
  unstable += record.verdict == Verdict::unstable ? 1 : 0;
  undecided += record.verdict == Verdict::undecided ? 1 : 0;
  invalid += record.verdict == Verdict::invalid ? 1 : 0;
  if (is_only_wide(record)) {
    ++only_wide;
  } else if (record.verdict == Verdict::unstable && unsteady_reason.empty()) {
    unsteady_reason = record.reason;
  }
}

void RepeatVerdicts::add(const RepeatVerdicts& other) {
  records += other.records;
  as_found += other.as_found;
  unstable += other.unstable;
  undecided += other.undecided;
  invalid += other.invalid;
  only_wide += other.only_wide;
  if (unsteady_reason.empty()) unsteady_reason = other.unsteady_reason;
}

void judge_repeats(PointSummary& summary, const RepeatVerdicts& repeats, std::span<const Estimate> missed_shares) {
  summary.verdict = verdict_of(repeats);
  summary.reason = reason_of(summary.outcomes, repeats, summary.verdict);
  judge_pooled_bound(summary, repeats, missed_shares);
  judge_interval(summary, repeats);
}

}  // namespace deepgap
