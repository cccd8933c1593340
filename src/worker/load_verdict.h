// What the measured window of a Record says about the load: estimates of what was offered, and whether the result may be used.
//
// A result is invalid when the Target was overloaded (a backlog was left) or when the latency bound is missed, and undecided when one of
// these cannot be decided. The reason says so in words, and what to change. docs/explanation/methodology.md has the rules.
#pragma once

#include "scenario/offered_load.h"
#include "stats/latency_bound.h"

#include <deepgap/record.h>

#include <map>
#include <optional>
#include <string>

namespace deepgap {

// Latencies of the window as the verdict needs them, in nanoseconds. A shed query counts as infinite latency.
struct LatencySummary {
  int64_t count = 0;  // queries, those that were shed among them
  double shortest = 0;
  double at_bound = 0;  // the bound's percentile
  int64_t missed = 0;   // above the bound's limit
  int64_t shed = 0;     // how many of `missed` were shed
};

// The rule by which a bound is judged.
enum class BoundRule {
  shown,        // held or missed with 99 % confidence, else undecided (stats/latency_bound.h)
  nearest_rank  // by the window's own percentile: of a search, which asks again where a verdict is unclear
};

struct LoadVerdict {
  Verdict verdict = Verdict::valid;  // or undecided, or invalid
  std::string reason;                // why it is not valid
};

// "offered_rate", "achieved_rate" (queries a second), "issue_lateness_p50_us", "_p99_us", "_max_us". Empty where nothing was offered by a
// schedule.
std::map<std::string, Estimate> load_estimates(const OfferedLoad& load);

LoadVerdict judge_load(const OfferedLoad& load, const std::optional<LatencyBound>& bound, const LatencySummary& latencies,
                       BoundRule rule = BoundRule::shown);

}  // namespace deepgap
