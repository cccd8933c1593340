#include "worker/verdict.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

// The engine does not choose what comes: no narrow interval is asked for its throughput, and a load that was kept up with is not more than
// found where nothing is asked about latency.
Judgement judge_open_loop(const WindowEvidence& evidence) {
  if (evidence.bound) return {};
  if (!evidence.asks_of_latency) return {Verdict::as_found, "", "the offered load was sustained; no latency SLO was set (--slo)"};
  if (evidence.rule.state() == Stopping::State::enough) return {};
  return {Verdict::unstable, ending_text(evidence.rule), "", true};
}

}  // namespace

Judgement judge_window(const WindowEvidence& evidence) {
  if (!evidence.failed.empty()) return {Verdict::invalid, evidence.failed, ""};
  const LoadVerdict load = judge_load(evidence.offered, evidence.bound, evidence.latencies, evidence.bound_rule);
  if (load.verdict == Verdict::invalid) return {load.verdict, load.reason, ""};
  if (!evidence.shed.empty()) return {Verdict::invalid, evidence.shed, ""};
  if (load.verdict != Verdict::valid) return {load.verdict, load.reason, ""};
  if (evidence.offered.length > 0) return judge_open_loop(evidence);
  const WindowVerdict window = evidence.rule.verdict();
  if (window.verdict == Verdict::as_found && evidence.bound) return {};  // the bound is what was asked, and it is held
  return {window.verdict, window.reason, window.as_found, window.only_wide};
}

std::string ending_text(const Stopping& rule) {
  if (rule.state() != Stopping::State::more) return rule.reason();
  return fmt::format("the schedule ended after {} queries", rule.throughput().n);
}

}  // namespace deepgap
