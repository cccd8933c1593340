#include "run/time_estimate.h"

#include <algorithm>

namespace deepgap {
namespace {

// Starting, loading, checking and warming up a model of ordinary size.
constexpr double overhead_s = 2;
// Most runs reach the interval they ask for long before their budget.
constexpr double budget_share = 0.3;
constexpr double fixed_counts_s = 5;

double seconds_from(Nanoseconds time) { return static_cast<double>(time) / 1e9; }

}  // namespace

double TimeEstimate::from_settings(const Job& job) const {
  const StoppingSettings& stopping = job.stopping;
  if (stopping.name == "duration" && stopping.duration) return overhead_s + seconds_from(*stopping.duration);
  if (stopping.name == "counts") return overhead_s + fixed_counts_s;
  return overhead_s + budget_share * seconds_from(stopping.budget);
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

double seconds_of(const Record& record) {
  if (record.windows.empty()) return 0;
  Nanoseconds begin = record.windows.front().begin, end = record.windows.front().end;
  for (const Window& window : record.windows) {
    begin = std::min(begin, window.begin);
    end = std::max(end, window.end);
  }
  return seconds_from(end - begin) + record.load_s.value_or(0);
}

}  // namespace deepgap
