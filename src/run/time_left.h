// Estimates how long the rest of a run may take, as its progress shows. A guess. Main thread.
#pragma once

#include "run/inspected_plan.h"
#include "run/time_estimate.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <utility>

namespace deepgap {

class TimeLeft {
 public:
  explicit TimeLeft(const RunSettings& settings) : settings_(settings) {}  // which outlive this

  void begin() { began_ = job_began_ = std::chrono::steady_clock::now(); }
  void know(TimeEstimate estimate) { estimate_ = std::move(estimate); }
  TimeEstimate& estimate() { return estimate_; }

  // Jobs that wait for a worker, which outlive this; a search's are not known beforehand.
  void wait_for(const Job& job) { waiting_.emplace(id_of(job), &job); }
  void no_more(const Job& job) { waiting_.erase(id_of(job)); }
  void wait_for_unknown(size_t points = 1) {
    waiting_.clear();
    points_ = points;
  }
  void took(const Job& job, double seconds, bool failed) {
    estimate_.took(job, seconds, failed);
    job_began_ = std::chrono::steady_clock::now();
  }

  // `current`: under way, so that a part of its time is over.
  TimeSpan of_jobs(const Job* current) const;
  // Estimates a search with so many runs over: about as many as most take, at the pace of those so far, and not longer than it may.
  TimeSpan of_search(size_t runs) const;

 private:
  const RunSettings& settings_;
  TimeEstimate estimate_;
  std::map<JobId, const Job*> waiting_;
  std::chrono::steady_clock::time_point began_{}, job_began_{};
  size_t points_ = 1;  // that a search began from
};

}  // namespace deepgap
