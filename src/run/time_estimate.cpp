#include "run/time_estimate.h"

#include "record/tenant_set.h"
#include "worker/mlperf_run.h"

#include <algorithm>

namespace deepgap {
namespace {

// Starting, loading, checking and warming up a model of ordinary size.
constexpr double overhead_s = 2;
// Most runs reach the interval they ask for long before their budget.
constexpr double budget_share = 0.3;
constexpr double fixed_counts_s = 5;
constexpr double warmup_queries = 10;  // until steady, where the budget allows
// Half of what a core with AVX-512 reaches in FP32 convolutions.
constexpr double flop_per_s_and_thread = 50e9;

double seconds_from(Nanoseconds time) { return static_cast<double>(time) / 1e9; }

double window_seconds(const StoppingSettings& stopping, double query_s) {
  if (stopping.name == "duration" && stopping.duration) return std::max(seconds_from(*stopping.duration), query_s);
  if (stopping.name == "counts") {
    const double counted_s = query_s * static_cast<double>(stopping.iterations.value_or(0));
    return counted_s > 0 ? counted_s : fixed_counts_s;
  }
  return std::max(budget_share * seconds_from(stopping.budget), query_s);
}

}  // namespace

// Tenants run at the same time: each counts for its part of it.
double TimeEstimate::from_settings(const Job& job) const {
  const auto place = tenant_place(job.point);
  return alone_from_settings(job) / (place ? place->count : 1);
}

double TimeEstimate::alone_from_settings(const Job& job) const {
  const StoppingSettings& stopping = job.stopping;
  const auto found = queries_.find(job.point_id);
  const double query_s = found == queries_.end() ? 0 : found->second;
  const double warmup_s = stopping.warmup ? query_s * static_cast<double>(*stopping.warmup)
                                          : std::min(query_s * warmup_queries, query_s + seconds_from(stopping.warmup_budget));
  if (is_mlperf(job.point)) return overhead_s + warmup_s + std::max(mlperf_seconds(job.point), query_s);
  return overhead_s + warmup_s + std::max(window_seconds(stopping, query_s), seconds_from(stopping.duration.value_or(0)));
}

double TimeEstimate::seconds(const Job& job) const {
  const auto found = history_.find(job.point_id);
  if (found != history_.end()) return found->second;
  return from_settings(job) * (guessed_ > 0 ? measured_ / guessed_ : 1);
}

void TimeEstimate::took(const Job& job, double seconds) {
  if (history_.count(job.point_id) == 0) {
    guessed_ += from_settings(job);
    measured_ += seconds;
  }
  history_[job.point_id] = seconds;  // the best there is for its next repeat
}

double guessed_query_s(double flop, int threads) { return flop / (flop_per_s_and_thread * std::max(threads, 1)); }

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
