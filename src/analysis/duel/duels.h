// Duels of a set of results: compares every contender with the first of its duel, by their Records. What each start of the contenders
// showed is one repeat; where there are several, the interval is that over them. Pure functions; the pointers lead into the Points given,
// which must outlive the result.
#pragma once

#include "analysis/duel/duel_score.h"
#include "analysis/point_summary.h"

#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct DuelOutcome {
  const PointSummary* point = nullptr;  // the contender's Point
  std::string name;
  bool known = false;  // it has a ratio
  DuelStanding standing;
  double needs_s = 0;  // more, to settle it; 0: nothing, or not known
  std::string words;   // "onnxruntime: 1.07 times (1.05 to 1.09) the throughput of native", with what it needs where that is not settled
};

struct DuelFound {
  const PointSummary* first = nullptr;
  std::string axis, first_name;
  double margin = 0;
  bool of_contenders = false;  // measured for the comparison alone, else interleaved engines
  std::vector<DuelOutcome> others;
  std::vector<std::string> details;  // what else distinguishes it from others of the same name: "rate=20"

  std::string label() const;  // what the contenders have in common: "resnet50, batch 8, 2 threads", and `details`
};

// Returns duels in the order of the Points. A duel whose first contender is missing is left out. So are interleaved engines whose windows
// were too short for a ratio and that started several times: their repeats are compared (compare_points()).
std::vector<DuelFound> duels_of(std::span<const PointSummary> points);

// faster, slower, same, unknown
const char* name_of(Difference difference);

}  // namespace deepgap
