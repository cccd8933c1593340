#include "plan/auto_repeats.h"

#include "record/latency_percentiles.h"
#include "record/record_json.h"
#include "stats/moments.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace deepgap {
namespace {

const std::string throughput = "throughput";
constexpr int most_failures = 2;            // in a row: it will not do better
constexpr double widest = 0.05;             // a run's own relative interval; beyond it no window says whether it was steady
constexpr double first_over_narrowest = 2;  // first run's interval over the narrowest: it is not known yet what a narrow one costs
constexpr double prior_repeats = 2;
constexpr double planned_repeats = 0.9 * most_auto_repeats;  // a scatter may turn out larger than it looked

// Returns the value that is asked for, if it is a metric; repeats of another percentile are known by their throughput.
const Estimate* asked_in(const Record& record) {
  const auto found = record.estimates.find(metric_of_target(record.stopping.target));
  if (found != record.estimates.end()) return &found->second;
  const auto fallback = record.estimates.find(throughput);
  return fallback == record.estimates.end() ? nullptr : &fallback->second;
}

// The idle window may be that of another Point in the same process, which came long before.
Nanoseconds begin_of(const Record& record) {
  const auto own = std::find_if(record.windows.begin(), record.windows.end(), [](const Window& window) { return window.name != "idle"; });
  return own->begin;
}

double squared(double value) { return value * value; }

// Returns how wide, over the interval asked of n repeats together, each one's interval may be if only their own errors make them differ.
double width_of_one(double count) { return std::sqrt(count) * student_factor(1e6) / (ended_by_looks * student_factor(count - 1)); }

}  // namespace

// Adds what a run shows about itself: how well it knows its mean, in how long a window, and what it took besides.
void AutoRepeats::Seen::add_run(const Record& record) {
  const Estimate& found = *asked_in(record);
  const auto steady =
      std::find_if(record.windows.begin(), record.windows.end(), [](const Window& window) { return window.name == "steady"; });
  if (!found.low || !found.high || found.value <= 0 || steady == record.windows.end() || steady->end <= steady->begin) return;
  const double seconds = static_cast<double>(steady->end - steady->begin) / 1e9;
  own_variances.push_back(squared((*found.high - *found.low) / 2 / student_factor(1e6) / found.value));
  second_variances.push_back(own_variances.back() * seconds);
  overheads.push_back(static_cast<double>(steady->begin - begin_of(record)) / 1e9);
}

// Variance of repeats beside that of their own means, relative: as if `prior_repeats` had shown before that they differ by what is asked.
double AutoRepeats::Seen::between() const {
  const auto mean = estimate_mean(values);
  if (!mean) return squared(asked);
  const double n = static_cast<double>(mean->n), all = mean->variance_of_mean * n / squared(mean->mean);
  const double found = std::max(all - mean_of(own_variances), 0.0);
  return (prior_repeats * squared(asked) + (n - 1) * found) / (prior_repeats + n - 1);
}

// With variances `between` of repeats and `second` of a window of a second, and `overhead` seconds beside a window of w, n repeats take
// n (overhead + w) and their mean has (between + second / w) / n: their product is least at w = sqrt(overhead second / between). If that
// would take more repeats than there may be, windows are as long as makes those suffice.
double AutoRepeats::Seen::interval_of_a_run() const {
  const double narrowest = width_of_one(fewest_auto_repeats) * asked;
  if (own_variances.empty()) return std::min(first_over_narrowest * narrowest, std::max(narrowest, widest));
  const double second = mean_of(second_variances), overhead = mean_of(overheads);
  if (second <= 0 || overhead <= 0) return narrowest;
  const double quickest = std::sqrt(overhead * second / between());
  const double spare = planned_repeats * squared(asked / (ended_by_looks * student_factor(planned_repeats - 1))) - between();
  const double window = spare > 0 ? std::max(quickest, second / spare) : quickest;
  return std::clamp(student_factor(1e6) * std::sqrt(second / window), narrowest, std::max(narrowest, widest));
}

// Uses the repeats as they are, so that it does not matter whether an earlier run measured them; on logarithms, as the Point's interval is.
bool AutoRepeats::Seen::enough() const {
  if (failures >= most_failures) return true;
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  const auto narrow = [&](size_t n) {
    const auto mean = estimate_mean(std::span(logs).first(n));
    return mean && ended_by_looks * mean->interval().half_width() <= asked;
  };
  return values.size() >= fewest_auto_repeats && narrow(values.size()) && narrow(values.size() - 1);
}

Batch AutoRepeats::next() {
  while (!is_over_()) {
    Batch batch = grid_->next();
    if (batch.jobs.empty()) return batch;
    std::erase_if(batch.jobs, [&](const Job& job) { return job.skip_reason.empty() && seen_of(job).enough(); });
    for (Job& job : batch.jobs) {
      const Seen& seen = seen_of(job);
      job.stopping.asked_of_all = job.stopping.interval;
      if (job.stopping.target == throughput) job.stopping.interval = seen.interval_of_a_run();
      if (job.own_window && seen.values.size() >= fewest_auto_repeats) job.stopping.duration.reset();
      job.stopping.auto_repeats = true;
    }
    if (!batch.jobs.empty()) return batch;
  }
  return {};
}

AutoRepeats::Seen& AutoRepeats::seen_of(const Job& job) {
  Seen& seen = seen_[job.point_id];
  seen.asked = job.stopping.interval;
  return seen;
}

void AutoRepeats::done(const Record& record) {
  Seen& seen = seen_[point_id(record.point)];
  const Estimate* found = asked_in(record);
  if (record.outcome != Outcome::ok || found == nullptr) {
    ++seen.failures;
    return;
  }
  seen.failures = 0;
  seen.values.push_back(found->value);
  seen.add_run(record);
}

}  // namespace deepgap
