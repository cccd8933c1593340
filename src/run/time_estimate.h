// TimeEstimate: how long the rest of a Plan will take: from its settings at first, corrected by what earlier Jobs really took. A guess, and
// shown as one.
#pragma once

#include "plan/study.h"

#include <chrono>
#include <map>
#include <string>

namespace deepgap {

class TimeEstimate {
 public:
  // By point_id, in seconds: what Points took in earlier runs of this Store, and what one query may take.
  explicit TimeEstimate(std::map<std::string, double> history = {}, std::map<std::string, double> queries = {})
      : history_(std::move(history)), queries_(std::move(queries)) {}
  double seconds(const Job& job) const;
  void took(const Job& job, double seconds);
  // A short look at the Point, before its first Job: how long a query, loading, and a window that decides take.
  void saw(const std::string& point_id, const Record& look);

 private:
  double from_settings(const Job& job) const;
  double alone_from_settings(const Job& job) const;

  struct Look {
    double load_s = 0, window_s = 0, half_width = 0;  // of throughput, relative; 0: not known
  };
  double window_of(const Job& job, double query_s) const;

  std::map<std::string, double> history_, queries_;
  std::map<std::string, Look> looks_;
  double guessed_ = 0, measured_ = 0;  // of Jobs without history that have ended
};

// What a query of so much arithmetic may take on so many cores of a server.
double guessed_query_s(double flop, int threads);

// What a stored Record took, by its windows; 0 when it has none.
double seconds_of(const Record& record);

}  // namespace deepgap
