// Reports where the GPU waits for the host: its idle share while it was measured.
#include "analysis/finding.h"
#include "analysis/point_labels.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

struct Waiting {
  std::vector<const PointSummary*> idle;  // the most idle first
  size_t known = 0;
};

Waiting waiting_of(const Workload& workload) {
  const auto value = [](const PointSummary* point, const char* metric) { return point->find(metric)->estimate.value; };
  Waiting waiting;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      if (!point->usable() || point->find("device_idle_share") == nullptr || point->find("host_bound") == nullptr) continue;
      ++waiting.known;
      if (value(point, "host_bound") > 0.5) waiting.idle.push_back(point);  // in most of its repeats
    }
  }
  std::stable_sort(waiting.idle.begin(), waiting.idle.end(),
                   [&](const auto* a, const auto* b) { return value(a, "device_idle_share") > value(b, "device_idle_share"); });
  return waiting;
}

Statement host_bound_statement(const Workload& workload, const Waiting& waiting, const std::vector<PointSummary>& all) {
  const PointSummary& worst = *waiting.idle.front();
  Statement statement{Tone::note, "", "", {}};
  statement.headline = fmt::format("{}: the GPU waits for the host in {} of {} points", workload.label, waiting.idle.size(), waiting.known);
  statement.detail = fmt::format("It waits most in {}: {} of the time.", PointLabels(all).of(worst),
                                 format_percent(worst.find("device_idle_share")->estimate.value));
  for (const PointSummary* point : waiting.idle) statement.points.push_back(point);
  return statement;
}

std::vector<Statement> find_host_bound(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    const Waiting waiting = waiting_of(workload);
    if (!waiting.idle.empty()) statements.push_back(host_bound_statement(workload, waiting, evidence.results.points));
  }
  return statements;
}

const bool registered = register_finding(
    {"host_bound", 30, find_host_bound, "Points with host_bound in most of their repeats: the host, not the GPU, sets their speed."});

}  // namespace
}  // namespace deepgap
