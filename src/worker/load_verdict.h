// What the measured window of a Record says about the load: estimates of what was offered, and whether the result may be used.
//
// A result is invalid when the Target was overloaded (a backlog was left) or when the latency bound is broken, and undecided when there are
// too few queries to tell. The reason says so in words, and what to change. docs/method.md has the rules.
#pragma once

#include "scenario/offered_load.h"
#include "stats/latency_bound.h"

#include <deepgap/record.h>

#include <map>
#include <optional>
#include <string>

namespace deepgap {

// Latencies of the window as the verdict needs them, in nanoseconds.
struct LatencySummary {
  int64_t count = 0;
  double shortest = 0;
  double at_bound = 0;  // the bound's percentile
  int64_t missed = 0;   // above the bound's limit
};

struct LoadVerdict {
  Verdict verdict = Verdict::valid;  // or undecided, or invalid
  std::string reason;                // of these
};

// "offered_rate", "achieved_rate" (queries a second), "issue_lateness_p50_us", "_p99_us", "_max_us". Empty where nothing was offered by a
// schedule.
std::map<std::string, Estimate> load_estimates(const OfferedLoad& load);

LoadVerdict judge_load(const OfferedLoad& load, const std::optional<LatencyBound>& bound, const LatencySummary& latencies);

}  // namespace deepgap
