#include "run/time_estimate.h"

#include "record/duel_set.h"
#include "record/tenant_set.h"
#include "run/window_note.h"
#include "stats/interval.h"
#include "worker/run_rules.h"

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// Starting, loading, checking and warming up a model of ordinary size.
constexpr double overhead_s = 2;
// Most runs reach the interval they ask for long before their budget.
constexpr double budget_share = 0.3;
constexpr double fixed_counts_s = 5;
constexpr double warmup_queries = 10;  // until steady, where the budget allows
// Scatter of a Job's time over the guess, as a logarithm: before any has ended, and by whether windows end at an interval or not.
constexpr double level_from_settings = 0.45, scatter_of_intervals = 0.6, scatter_of_lengths = 0.15;
constexpr int prior_jobs = 3;
// Their level wanders: the Jobs of an hour ago say little of the next, and it is not known better than by so many.
constexpr int jobs_of_a_level = 4;

// In FP32 convolutions cores with AVX-512 reach 100e9 to 160e9; others are taken by the width of their vectors.
double flop_per_s_and_thread() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return 100e9;
  if (__builtin_cpu_supports("avx2")) return 50e9;
#endif
  return 25e9;
}

double seconds_from(Nanoseconds time) { return static_cast<double>(time) / 1e9; }

double window_seconds(const StoppingSettings& stopping, double query_s) {
  if (stopping.name == "duration" && stopping.duration) return std::max(seconds_from(*stopping.duration), query_s);
  if (stopping.name == "counts") {
    const double counted_s = query_s * static_cast<double>(stopping.iterations.value_or(0));
    return counted_s > 0 ? counted_s : fixed_counts_s;
  }
  return std::max(budget_share * seconds_from(stopping.budget), query_s);
}

// The window times the square of its throughput's relative half width, which stays as it is while a window grows. 0: not known.
double window_s_per_variance(const Record& look) {
  const auto value = [&](const char* id) {
    const auto found = look.estimates.find(id);
    return found == look.estimates.end() ? Estimate{} : found->second;
  };
  const Estimate throughput = value("throughput");
  const auto steady = std::find_if(look.windows.begin(), look.windows.end(), [](const Window& window) { return window.name == "steady"; });
  if (steady != look.windows.end() && throughput.low && throughput.high && throughput.value > 0) {
    const double half_width = (*throughput.high - *throughput.low) / 2 / throughput.value;
    return seconds_from(steady->end - steady->begin) * half_width * half_width;
  }
  // Too few queries for an interval: as if each were independent of the one before.
  const double mean_ms = value("latency_mean_ms").value, std_ms = value("latency_std_ms").value;
  if (!(mean_ms > 0) || !(std_ms > 0)) return 0;
  const double half_width = 1.96 * std_ms / mean_ms;
  return mean_ms / 1e3 * half_width * half_width;
}

}  // namespace

// Tenants run at the same time, and the turns of a duel share one budget: each counts for its part of it.
double TimeEstimate::from_settings(const Job& job) const {
  if (const auto duel = contender_place(job.point)) return overhead_s + seconds_from(job.stopping.budget) / duel->count;
  const auto place = tenant_place(job.point);
  return alone_from_settings(job) / (place ? place->count : 1);
}

double TimeEstimate::alone_from_settings(const Job& job) const {
  const StoppingSettings& stopping = job.stopping;
  const auto found = queries_.find(job.point_id);
  const double query_s = found == queries_.end() ? 0 : found->second;
  const double warmup_s = stopping.warmup ? query_s * static_cast<double>(*stopping.warmup)
                                          : std::min(query_s * warmup_queries, query_s + seconds_from(stopping.warmup_budget));
  const Look* look = look_of(job);
  const double around_s = look == nullptr ? overhead_s : look->around_s;
  if (const RunRules* rules = rules_of(job.point)) return overhead_s + warmup_s + std::max(rules->seconds(job.point), query_s);
  if (const auto window = scheduled_window(job))
    return around_s + warmup_s + seconds_from(scheduled_lead(job, *window)) + std::max(seconds_from(*window), query_s);
  return around_s + warmup_s + std::max(window_of(job, query_s), seconds_from(stopping.duration.value_or(0)));
}

double TimeEstimate::seconds(const Job& job) const {
  const auto found = failures_.find(job.point_id);
  return found != failures_.end() ? found->second : if_it_ends(job);
}

double TimeEstimate::if_it_ends(const Job& job) const {
  const auto found = history_.find(job.point_id);
  if (found != history_.end()) return found->second;
  return from_settings(job) * (guessed_ > 0 ? measured_ / guessed_ : 1);
}

void TimeEstimate::saw(const std::string& point_id, const Record& look, double whole_s) {
  if (look.outcome != Outcome::ok) return;
  const auto median_ms = look.estimates.find("latency_p50_ms");
  if (median_ms != look.estimates.end() && median_ms->second.value > 0) queries_[point_id] = median_ms->second.value / 1e3;
  Look& seen = looks_[point_id];
  seen.around_s = std::max(0.0, whole_s - seconds_of(look) + look.load_s.value_or(0));
  seen.window_s_per_variance = window_s_per_variance(look);
  mean_look_ = {};
  for (const auto& [id, one] : looks_) {
    mean_look_.around_s += one.around_s / static_cast<double>(looks_.size());
    mean_look_.window_s_per_variance += one.window_s_per_variance / static_cast<double>(looks_.size());
  }
}

const TimeEstimate::Look* TimeEstimate::look_of(const Job& job) const {
  const auto found = looks_.find(job.point_id);
  return found != looks_.end() ? &found->second : looks_.empty() ? nullptr : &mean_look_;
}

// An interval narrows with the square root of the time.
double TimeEstimate::window_of(const Job& job, double query_s) const {
  const Look* look = look_of(job);
  const bool by_look = look != nullptr && look->window_s_per_variance > 0 && job.stopping.name == "interval" && job.stopping.interval > 0;
  if (!by_look) return window_seconds(job.stopping, query_s);
  return std::clamp(look->window_s_per_variance / (job.stopping.interval * job.stopping.interval),
                    std::min(0.5, seconds_from(job.stopping.budget)), seconds_from(job.stopping.budget));
}

// The error of a sum is that of the level, common to all, and of each by itself.
TimeSpan TimeEstimate::of(const std::vector<const Job*>& jobs) const {
  double sum = 0, own = 0, level = 0;
  for (const Job* job : jobs) {
    const double guess = seconds(*job);
    sum += guess;
    own += guess * guess * variance_of(*job);
    level += guess * level_of(*job);
  }
  if (sum <= 0) return {};
  const double reach = student_factor(prior_jobs + foretold_, 0.8) * std::sqrt(level / sum + own / (sum * sum));
  return {sum, sum * std::exp(-reach), sum * std::exp(reach)};
}

// Returns the variance of log(time / guess) for a Job, as if `prior_jobs` had been off by the usual.
double TimeEstimate::variance_of(const Job& job) const {
  const double prior = job.stopping.name == "interval" ? scatter_of_intervals : scatter_of_lengths;
  return (prior_jobs * prior * prior + squared_errors_) / (prior_jobs + foretold_);
}

// Returns the part of the same logarithm that the Job has in common with other Jobs.
double TimeEstimate::level_of(const Job& job) const {
  if (ended_ == 0 && !knows(job)) return level_from_settings * level_from_settings;
  return variance_of(job) / std::clamp(ended_, 1, jobs_of_a_level);
}

void TimeEstimate::took(const Job& job, double seconds, bool failed) {
  if (failed) {
    failures_[job.point_id] = seconds;
    return;
  }
  learn_from(job, seconds);
  failures_.erase(job.point_id);
  history_[job.point_id] = seconds;  // the best there is for its next repeat
}

void TimeEstimate::learn_from(const Job& job, double seconds) {
  // For the very first Job the level was not known either. A set's Records come all at once, so that one of them took all the time.
  const bool of_a_set = contender_place(job.point) || tenant_place(job.point);
  if (ended_ > 0 && seconds > 0 && !of_a_set) {
    const double error = std::log(seconds / if_it_ends(job));
    squared_errors_ += error * error;
    ++foretold_;
  }
  ++ended_;
  if (history_.count(job.point_id) == 0) {
    guessed_ += from_settings(job);
    measured_ += seconds;
  }
}

double guessed_query_s(double flop, int threads) { return flop / (flop_per_s_and_thread() * std::max(threads, 1)); }

double seconds_of(const Record& record) {
  if (record.windows.empty()) return 0;
  Nanoseconds begin = record.windows.back().begin, end = record.windows.back().end;
  for (const Window& window : record.windows) {
    if (window.name == "idle") continue;  // may be that of an earlier Record of the same process
    begin = std::min(begin, window.begin);
    end = std::max(end, window.end);
  }
  return seconds_from(end - begin) + record.load_s.value_or(0);
}

}  // namespace deepgap
