// The results of a Planner, besides the Records that led it there. Plain data.
#pragma once

#include "plan/peak_search.h"
#include "plan/tune_search.h"

#include <deepgap/point.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct FoundPeak {
  Point point;         // the Job's without its load
  PeakResult result;   // if the search ended early, `load` is the largest that most runs held: `held` of `runs`
  std::string reason;  // why nothing was found, from the last Record: "crashed: ...", "p99 latency is ..."
};

struct TunedPoint {
  Point point;  // without what the search noted; under a bound with the load that it holds
  TuneStanding standing;
};

struct TuneResult {
  std::vector<TunedPoint> finalists;  // as TuneSearch::standings
  size_t configurations = 0, tried = 0;
  std::string reason;  // reason of the last run that failed or missed, used if there is no finalist
  bool confirmed() const { return !finalists.empty() && finalists.front().standing.confirmed; }
};

struct PlannerResult {
  std::vector<FoundPeak> peaks;     // result of a peak search, one for each Job that it began from
  std::optional<TuneResult> tuned;  // result of tuning
};

}  // namespace deepgap
