#include "worker/verdict.h"

#include <fmt/format.h>

namespace deepgap {

Judgement judge_window(const WindowEvidence& evidence) {
  const LoadVerdict load = judge_load(evidence.offered, evidence.bound, evidence.latencies);
  if (load.verdict == Verdict::invalid) return {load.verdict, load.reason};
  if (!evidence.shed.empty()) return {Verdict::invalid, evidence.shed};
  if (load.verdict != Verdict::valid) return {load.verdict, load.reason};
  if (evidence.rule.state() == Stopping::State::exhausted) return {Verdict::unstable, evidence.rule.reason()};
  return {};
}

std::string ending_text(const Stopping& rule) {
  if (rule.state() != Stopping::State::more) return rule.reason();
  return fmt::format("the schedule ended after {} queries", rule.throughput().n);
}

}  // namespace deepgap
