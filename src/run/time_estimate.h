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

 private:
  double from_settings(const Job& job) const;
  double alone_from_settings(const Job& job) const;

  std::map<std::string, double> history_, queries_;
  double guessed_ = 0, measured_ = 0;  // of Jobs without history that have ended
};

// What a query of so much arithmetic may take on so many cores of a server.
double guessed_query_s(double flop, int threads);

// What a stored Record took, by its windows; 0 when it has none.
double seconds_of(const Record& record);

}  // namespace deepgap
