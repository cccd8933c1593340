// What a measured window is worth: the verdict of its Stopping rule, its load and its latency bound together. The worst one stands.
#pragma once

#include "scenario/stopping.h"
#include "worker/load_verdict.h"

#include <optional>
#include <string>

namespace deepgap {

// What is known of the window when it is over.
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

// Why the window ended, in words.
std::string ending_text(const Stopping& rule);

}  // namespace deepgap
