// Recommendation: which device, engine, precision and batch to take for a demand, what comes next, and what would change the choice. Skips
// Points that are unstable, invalid, undecided, unchecked or published by others, unless the Demand allows them. Pure functions; the
// pointers lead into the Workload given.
#pragma once

#include "analysis/decide/candidate.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// A value at which the choice changes.
struct BreakEven {
  std::string what;         // "price", "rate", "bound"
  double from = 0, to = 0;  // unit by `what`: price per hour and device, items per second, seconds
  Candidate instead;
};

struct Unknown {
  std::string what;     // one line: what is not known
  std::string command;  // the `deepgap run` that would measure it; may be empty
};

struct Recommendation {
  std::optional<Candidate> choice;    // nullopt: nothing meets the bounds
  std::vector<Candidate> runners_up;  // the best of other ways (device, engine, precision), at most 3
  std::vector<BreakEven> would_change;
  std::vector<Unknown> unknown;
  std::optional<Rejected> nearest;  // where there is no choice: what misses least
};

Recommendation recommend(const Workload& workload, const Demand& demand);

// "H200 · libtorch_cuda · fp16 · batch 32".
std::string way_label(const PointSummary& point);

}  // namespace deepgap
