#include "run/time_left.h"

#include <algorithm>

namespace deepgap {
namespace {

double seconds_since(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - time).count();
}

}  // namespace

TimeSpan TimeLeft::of_jobs(const Job* current) const {
  std::vector<const Job*> jobs;
  for (const auto& [id, job] : waiting_) jobs.push_back(job);
  const TimeSpan all = estimate_.of(jobs);
  if (current == nullptr || waiting_.count(id_of(*current)) == 0) return all;
  return all.after(std::min(seconds_since(job_began_), 0.95 * estimate_.seconds(*current)));
}

TimeSpan TimeLeft::of_search(size_t runs) const {
  const double used = seconds_since(began_);
  const double most = settings_.search_time ? std::max(0.0, std::chrono::duration<double>(*settings_.search_time).count() - used) : 1e9;
  if (!settings_.peak || runs == 0) return {settings_.search_time ? most : 0};
  const double left = std::max(static_cast<double>(usual_peak_runs) * static_cast<double>(points_) - static_cast<double>(runs), 1.0);
  return {std::min(most, left * used / static_cast<double>(runs))};
}

}  // namespace deepgap
