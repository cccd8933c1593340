// Judges a measured window by its Stopping rule, its load and its latency bound together. The worst verdict stands.
#pragma once

#include "scenario/stopping.h"
#include "worker/load_verdict.h"

#include <optional>
#include <string>

namespace deepgap {

// The evidence about a window when it is over.
struct WindowEvidence {
  const Stopping& rule;
  const OfferedLoad& offered;
  const std::optional<LatencyBound>& bound;
  BoundRule bound_rule;
  LatencySummary latencies;
  std::string shed;              // why queries that a full queue gave up make the result invalid; empty: they do not
  std::string failed;            // likewise of queries that failed
  bool asks_of_latency = false;  // the rule ends at an interval of a percentile
};

struct Judgement {
  Verdict verdict = Verdict::valid;
  std::string reason;
  std::string as_found;    // likewise: why nothing was judged but steadiness, or load
  bool only_wide = false;  // WindowVerdict::only_wide
};

Judgement judge_window(const WindowEvidence& evidence);

// Returns why the window ended, in words.
std::string ending_text(const Stopping& rule);

}  // namespace deepgap
