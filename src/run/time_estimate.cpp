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
  return overhead_s + warmup_s + std::max(window_of(job, query_s), seconds_from(stopping.duration.value_or(0)));
}

double TimeEstimate::seconds(const Job& job) const {
  const auto found = history_.find(job.point_id);
  if (found != history_.end()) return found->second;
  return from_settings(job) * (guessed_ > 0 ? measured_ / guessed_ : 1);
}

void TimeEstimate::saw(const std::string& point_id, const Record& look) {
  if (look.outcome != Outcome::ok) return;
  const auto value = [&](const char* id) {
    const auto found = look.estimates.find(id);
    return found == look.estimates.end() ? Estimate{} : found->second;
  };
  if (const double median_ms = value("latency_p50_ms").value; median_ms > 0) queries_[point_id] = median_ms / 1e3;
  Look& seen = looks_[point_id];
  seen.load_s = look.load_s.value_or(0);
  for (const Window& window : look.windows) {
    if (window.name == "steady") seen.window_s = seconds_from(window.end - window.begin);
  }
  const Estimate throughput = value("throughput");
  if (throughput.low && throughput.high && throughput.value > 0)
    seen.half_width = (*throughput.high - *throughput.low) / 2 / throughput.value;
}

// An interval narrows with the square root of the time.
double TimeEstimate::window_of(const Job& job, double query_s) const {
  const auto found = looks_.find(job.point_id);
  const bool by_look =
      found != looks_.end() && found->second.half_width > 0 && job.stopping.name == "interval" && job.stopping.interval > 0;
  if (!by_look) return window_seconds(job.stopping, query_s);
  const double wider = found->second.half_width / job.stopping.interval;
  return std::clamp(found->second.window_s * wider * wider, std::min(0.5, seconds_from(job.stopping.budget)),
                    seconds_from(job.stopping.budget));
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
