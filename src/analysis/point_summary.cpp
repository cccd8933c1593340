#include "analysis/point_summary.h"

#include "analysis/accuracy_loss.h"
#include "record/momentary.h"
#include "record/record_json.h"
#include "stats/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace deepgap {
namespace {

// How a Record's values may be used.
enum class Use { no, only_if_nothing_else, yes };

Use use_of(const Record& record) {
  if (record.outcome != Outcome::ok) return Use::no;
  return record.verdict == Verdict::invalid ? Use::only_if_nothing_else : Use::yes;
}

// What the usable (or the invalid) Records of a Point say, without everything else that they carry.
struct Values {
  int64_t records = 0;
  bool unstable = false;
  bool unchecked = false;
  std::map<std::string, std::vector<Estimate>> estimates;  // by Metric id, one a Record
};

// Whether `kept` is `facts` without the momentary ones.
bool keeps(const Facts& kept, const Facts& facts) {
  auto own = kept.begin();
  for (const auto& fact : facts) {
    if (is_momentary(fact.first)) continue;
    if (own == kept.end() || *own != fact) return false;
    ++own;
  }
  return own == kept.end();
}

// One copy of each environment: all Records of a run have the same.
class Environments {
 public:
  using Shared = std::shared_ptr<const Facts>;

  // What `so_far` (nullptr: all) and `facts` have alike.
  Shared common(const Shared& so_far, const Facts& facts) {
    if (so_far && keeps(*so_far, facts)) return so_far;
    if (!so_far && newest_ && keeps(*newest_, facts)) return newest_;
    Facts alike;
    const Facts& among = so_far ? *so_far : facts;
    std::set_intersection(among.begin(), among.end(), facts.begin(), facts.end(), std::inserter(alike, alike.end()));
    std::erase_if(alike, [](const auto& fact) { return is_momentary(fact.first); });
    if (!newest_ || *newest_ != alike) newest_ = std::make_shared<const Facts>(std::move(alike));
    return newest_;
  }

 private:
  Shared newest_;
};

struct Group {
  PointSummary summary;  // all but metrics, outcome and verdict, which need every Record
  Values good, invalid;
};

void count_outcome(std::vector<OutcomeCount>& outcomes, const Record& record) {
  for (OutcomeCount& seen : outcomes) {
    if (seen.outcome == record.outcome && seen.verdict == record.verdict && seen.reason == record.reason) {
      ++seen.count;
      if (seen.stderr_tail.empty()) seen.stderr_tail = record.stderr_tail;
      return;
    }
  }
  outcomes.push_back({record.outcome, record.verdict, record.reason, 1, record.stderr_tail});
}

void keep_worst_check(std::optional<CheckResult>& worst, const std::optional<CheckResult>& check) {
  if (!check) return;
  if (!worst || std::pair(check->pass, check->sqnr_db) < std::pair(worst->pass, worst->sqnr_db)) worst = check;
}

void describe_point(PointSummary& summary, const Record& record, const std::string& id) {
  summary.point_id = id;
  summary.point = record.point;
  summary.tenant = record.tenant;
  summary.rank = record.rank;
  summary.stopping = record.stopping;
  summary.first_started_unix_ns = summary.last_started_unix_ns = record.started_unix_ns;
}

void keep_dispatcher_facts(PointSummary& summary, const Record& record) {
  constexpr std::string_view prefix = "dispatcher.";
  summary.dispatcher.clear();
  for (auto fact = record.facts.lower_bound(std::string(prefix)); fact != record.facts.end() && fact->first.starts_with(prefix); ++fact) {
    summary.dispatcher.emplace(fact->first.substr(prefix.size()), fact->second);
  }
}

void add_record(Group& group, const Record& record) {
  PointSummary& summary = group.summary;
  ++summary.records;
  count_outcome(summary.outcomes, record);
  keep_worst_check(summary.check, record.check);
  if (!record.backend_version.empty()) summary.backend_versions.insert(record.backend_version);
  if (!record.study.empty()) summary.studies.insert(record.study);
  if (summary.dataset_description.empty()) summary.dataset_description = record.dataset_description;
  // A Record that failed before the model was read has zeros here.
  summary.parameters = std::max(summary.parameters, record.parameters);
  summary.macs_per_item = std::max(summary.macs_per_item, record.macs_per_item);
  summary.flop_per_item = std::max(summary.flop_per_item, record.flop_per_item);
  summary.bytes_per_item = std::max(summary.bytes_per_item, record.bytes_per_item);
  summary.first_started_unix_ns = std::min(summary.first_started_unix_ns, record.started_unix_ns);
  summary.last_started_unix_ns = std::max(summary.last_started_unix_ns, record.started_unix_ns);
  const Use use = use_of(record);
  if (use == Use::no) return;
  keep_dispatcher_facts(summary, record);
  Values& values = use == Use::yes ? group.good : group.invalid;
  ++values.records;
  values.unstable = values.unstable || record.verdict == Verdict::unstable;
  values.unchecked = values.unchecked || record.unchecked;
  for (const auto& [id, estimate] : record.estimates) {
    if (!std::isfinite(estimate.value)) continue;
    std::vector<Estimate>& repeats = values.estimates[id];
    if (id.starts_with("accuracy_")) repeats.clear();  // the same samples once more narrow no interval
    repeats.push_back(estimate);
  }
}

const OutcomeCount& representative(const std::vector<OutcomeCount>& outcomes) {
  // Higher is preferred. `outcomes` is sorted by count, so the first of a rank is its most frequent.
  const auto rank = [](const OutcomeCount& seen) {
    if (seen.outcome == Outcome::incorrect) return 3;
    if (seen.outcome == Outcome::ok) return 2;
    return seen.outcome == Outcome::interrupted ? 0 : 1;
  };
  return *std::max_element(outcomes.begin(), outcomes.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

const std::string& reason_of_verdict(const std::vector<OutcomeCount>& outcomes, Verdict verdict) {
  static const std::string none;
  for (const OutcomeCount& seen : outcomes) {
    if (seen.outcome == Outcome::ok && seen.verdict == verdict) return seen.reason;
  }
  return none;
}

// student_factor, with the common whole degrees of freedom at hand: a Store of many Points asks a million times.
double quick_student_factor(double degrees_of_freedom) {
  static const auto factors = [] {
    std::array<double, 64> made{};
    for (size_t i = 1; i < made.size(); ++i) made[i] = student_factor(static_cast<double>(i));
    return made;
  }();
  const auto whole = static_cast<size_t>(degrees_of_freedom);
  const bool at_hand = degrees_of_freedom >= 1 && whole < factors.size() && static_cast<double>(whole) == degrees_of_freedom;
  return at_hand ? factors[whole] : student_factor(degrees_of_freedom);
}

std::optional<MetricSummary> combine(std::span<const Estimate> repeats) {
  std::vector<MeanEstimate> means;
  for (const Estimate& repeat : repeats) means.push_back(moments_of(repeat));
  const auto over = estimate_over_repeats(means);
  if (!over) return std::nullopt;
  MetricSummary summary{{over->estimate.mean, {}, {}, over->estimate.n}, over->estimate, over->over_repeats};
  if (!over->over_repeats) {
    summary.estimate = repeats[0];  // its own interval, which need not be symmetric
  } else {
    const MeanEstimate& mean = over->estimate;
    const double half = mean.variance_of_mean > 0 ? quick_student_factor(mean.degrees_of_freedom) * std::sqrt(mean.variance_of_mean) : 0;
    // What is measured here is never negative, so neither is the end of its interval.
    summary.estimate.low = mean.mean >= 0 ? std::max(0.0, mean.mean - half) : mean.mean - half;
    summary.estimate.high = mean.mean + half;
  }
  return summary;
}

PointSummary finish(const Group& group) {
  PointSummary summary = group.summary;
  std::stable_sort(summary.outcomes.begin(), summary.outcomes.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  const OutcomeCount& shown = representative(summary.outcomes);
  summary.outcome = shown.outcome;
  summary.reason = shown.reason;
  summary.stderr_tail = shown.stderr_tail;
  if (summary.outcome != Outcome::ok) return summary;

  const bool any_good = group.good.records > 0;
  const Values& used = any_good ? group.good : group.invalid;
  summary.used = used.records;
  summary.unchecked = used.unchecked;
  summary.verdict = !any_good ? Verdict::invalid : used.unstable ? Verdict::unstable : Verdict::valid;
  summary.reason = reason_of_verdict(summary.outcomes, summary.verdict);
  for (const auto& [id, estimates] : used.estimates) {
    if (auto combined = combine(estimates)) summary.metrics.emplace(id, *combined);
  }
  return summary;
}

}  // namespace

const MetricSummary* PointSummary::find(const std::string& metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? nullptr : &found->second;
}

int64_t PointSummary::count(Outcome which) const {
  int64_t total = 0;
  for (const OutcomeCount& seen : outcomes) total += seen.outcome == which ? seen.count : 0;
  return total;
}

MeanEstimate moments_of(const Estimate& estimate) {
  constexpr double batch_means = 32;  // the fewest that a correlated series is cut into (stats/correlated.h)
  MeanEstimate mean{estimate.value, 0, std::clamp(static_cast<double>(estimate.n) - 1, 1.0, batch_means - 1), estimate.n};
  if (estimate.low && estimate.high && *estimate.high > *estimate.low) {
    const double error = (*estimate.high - *estimate.low) / 2 / quick_student_factor(mean.degrees_of_freedom);
    mean.variance_of_mean = error * error;
  }
  return mean;
}

// Groups are found by comparing Points; the id, a hash of canonical JSON, is made once for each.
struct PointCollector::State {
  std::vector<Group> groups;
  Environments environments;
  std::map<std::tuple<Point, std::string, int>, size_t> index;
  int64_t records = 0;
};

PointCollector::PointCollector() : state_(std::make_unique<State>()) {}
PointCollector::~PointCollector() = default;
PointCollector::PointCollector(PointCollector&&) noexcept = default;
PointCollector& PointCollector::operator=(PointCollector&&) noexcept = default;

void PointCollector::add(const Record& record) {
  const auto [place, is_new] = state_->index.try_emplace({record.point, record.tenant, record.rank}, state_->groups.size());
  if (is_new) describe_point(state_->groups.emplace_back().summary, record, point_id(record.point));
  Group& group = state_->groups[place->second];
  add_record(group, record);
  group.summary.environment = state_->environments.common(group.summary.environment, record.environment);
  ++state_->records;
}

int64_t PointCollector::records() const { return state_->records; }

std::vector<PointSummary> PointCollector::summaries() const {
  std::vector<PointSummary> summaries;
  summaries.reserve(state_->groups.size());
  for (const Group& group : state_->groups) summaries.push_back(finish(group));
  add_accuracy_losses(summaries);
  return summaries;
}

std::vector<PointSummary> summarize_points(std::span<const Record> records) {
  PointCollector collector;
  for (const Record& record : records) collector.add(record);
  return collector.summaries();
}

}  // namespace deepgap
