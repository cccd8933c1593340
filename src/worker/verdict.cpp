#include "worker/verdict.h"

#include <fmt/format.h>

namespace deepgap {

Judgement judge_window(const WindowEvidence& evidence) {
  if (!evidence.failed.empty()) return {Verdict::invalid, evidence.failed};
  const LoadVerdict load = judge_load(evidence.offered, evidence.bound, evidence.latencies, evidence.bound_rule);
  if (load.verdict == Verdict::invalid) return {load.verdict, load.reason};
  if (!evidence.shed.empty()) return {Verdict::invalid, evidence.shed};
  if (load.verdict != Verdict::valid) return {load.verdict, load.reason};
  if (evidence.offered.length > 0) return {};  // what came was not the engine's to choose: no narrow interval is asked of it
  const WindowVerdict window = evidence.rule.verdict();
  if (window.verdict == Verdict::as_found && evidence.bound) return {};  // the bound is what was asked, and it is held
  return {window.verdict, window.reason};
}

std::string ending_text(const Stopping& rule) {
  if (rule.state() != Stopping::State::more) return rule.reason();
  return fmt::format("the schedule ended after {} queries", rule.throughput().n);
}

}  // namespace deepgap
