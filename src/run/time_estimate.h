// TimeEstimate: how long the rest of a Plan will take: from its settings at first, corrected by what earlier Jobs really took. A guess, and
// shown as one.
#pragma once

#include "plan/study.h"
#include "run/time_span.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

class TimeEstimate {
 public:
  // Takes, by point_id, in seconds: the time of Points in earlier runs of this Store, and the time that one query may take.
  explicit TimeEstimate(std::map<std::string, double> history = {}, std::map<std::string, double> queries = {})
      : history_(std::move(history)), queries_(std::move(queries)) {}
  double seconds(const Job& job) const;
  // Estimates the time of all Jobs. The error expected follows from the errors for the Jobs that have ended (lab-notes/time-left.md).
  TimeSpan of(const std::vector<const Job*>& jobs) const;
  bool knows(const Job& job) const { return history_.count(job.point_id) != 0; }  // what it took in earlier runs
  // `failed`: the time counts for its own next repeat, not for other Jobs.
  void took(const Job& job, double seconds, bool failed = false);
  // A short look at the Point, before its first Job, which took so long as a whole: how long a query, all around the windows, and a window
  // that decides take. Points that were not looked at are taken to scatter as those that were.
  void saw(const std::string& point_id, const Record& look, double whole_s);

 private:
  double from_settings(const Job& job) const;
  double variance_of(const Job& job) const;
  double level_of(const Job& job) const;
  double if_it_ends(const Job& job) const;  // seconds
  void learn_from(const Job& job, double seconds);
  double alone_from_settings(const Job& job) const;

  struct Look {
    double around_s = 0;               // starting and loading
    double window_s_per_variance = 0;  // what a window lasts times the square of the half width that it reaches; 0: not known
  };
  const Look* look_of(const Job& job) const;
  double window_of(const Job& job, double query_s) const;

  std::map<std::string, double> history_, queries_, failures_;
  std::map<std::string, Look> looks_;
  Look mean_look_;                     // mean of looks_
  double guessed_ = 0, measured_ = 0;  // sums over Jobs without history that have ended
  int ended_ = 0, foretold_ = 0;
  double squared_errors_ = 0;  // logarithms of what the foretold_ took over what was guessed just before
};

// Returns the guessed time of a query with so much arithmetic on so many cores of a server.
double guessed_query_s(double flop, int threads);

// Returns the time that a stored Record took, by its windows; 0 when it has none.
double seconds_of(const Record& record);

}  // namespace deepgap
