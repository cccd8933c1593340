// The verdict of a Point, from all its repeats together.
//
// Where an interval was asked for, the verdict is about the interval over the repeats, which is what the Point's value is shown with:
// `valid` where that is within what was asked, else `unstable`. How wide the repeats' own intervals are does not matter then, since the
// interval over them holds it. A repeat that is invalid or undecided, and half of them being unsteady (drift, a step, two speeds), still
// makes the Point `unstable`: an interval over repeats that all drift alike does not show the drift.
// A latency bound is judged by the queries of all repeats (pooled_bound.h). With three or more, the percentile's interval must also
// end below the bound: how much processes differ is seen there alone.
// Pure functions.
#pragma once

#include "analysis/point_summary.h"

#include <cstdint>
#include <span>
#include <string>

namespace deepgap {

// Counts the verdicts of the Records that ran.
struct RepeatVerdicts {
  int64_t records = 0;
  int64_t as_found = 0, unstable = 0, undecided = 0, invalid = 0;
  int64_t only_wide = 0;  // unstable ones that are steady, but with an interval wider than asked

  void add(const Record& record);
  void add(const RepeatVerdicts& other);
  int64_t unsteady() const { return unstable - only_wide; }
  std::string unsteady_reason;  // reason of the first of these
};

// Returns whether the verdict is about the interval over the repeats, so that what each repeat says about itself does not count.
bool is_judged_by_interval(const PointSummary& summary);

// Sets verdict, reason and `pooled`. Reads outcomes, metrics, stopping and `used`. `missed_shares`: of each repeat; empty: of none.
void judge_repeats(PointSummary& summary, const RepeatVerdicts& repeats, std::span<const Estimate> missed_shares);

}  // namespace deepgap
