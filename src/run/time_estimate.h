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
  // What Points took in earlier runs of this Store, seconds by point_id.
  explicit TimeEstimate(std::map<std::string, double> history = {}) : history_(std::move(history)) {}
  double seconds(const Job& job) const;
  void took(const Job& job, double seconds);

 private:
  double from_settings(const Job& job) const;

  std::map<std::string, double> history_;
  double guessed_ = 0, measured_ = 0;  // of Jobs without history that have ended
};

// What a stored Record took, by its windows; 0 when it has none.
double seconds_of(const Record& record);

}  // namespace deepgap
