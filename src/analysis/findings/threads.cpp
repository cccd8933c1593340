// Reports how a CPU engine scales with its threads, and where more of them stop helping.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/one_change.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

Statement threads_statement(const Workload& workload, const std::vector<const Line*>& lines) {
  const auto fewer = [](const Line* a, const Line* b) { return a->key.threads < b->key.threads; };
  const auto slower = [](const Line* a, const Line* b) {
    return a->peak()->find("throughput")->estimate.value < b->peak()->find("throughput")->estimate.value;
  };
  const Line& fewest = **std::min_element(lines.begin(), lines.end(), fewer);
  const Line& most = **std::max_element(lines.begin(), lines.end(), fewer);
  const Line& best = **std::max_element(lines.begin(), lines.end(), slower);
  Statement statement;
  statement.headline =
      fmt::format("{}, {}: fastest with {}", workload.label, label_without_threads(best), count_of(best.key.threads, "thread", "threads"));
  statement.points = {best.peak()};
  if (&best != &fewest) statement.points.push_back(fewest.peak());
  const auto gain = compare_points(*best.peak(), *fewest.peak(), "throughput");
  statement.effect = certain_effect(gain);
  if (&best == &fewest || !gain) {
    statement.detail = "More threads do not help.";
  } else {
    const double efficiency = gain->ratio * fewest.key.threads / best.key.threads;
    statement.detail = fmt::format("That is {}: an efficiency of {}.",
                                   comparison_words(*gain, count_of(fewest.key.threads, "thread", "threads")), format_percent(efficiency));
  }
  if (&best != &most && &best != &fewest) {
    const auto loss = compare_points(*best.peak(), *most.peak(), "throughput");
    statement.detail += loss && loss->separable() ? " More threads are slower." : " More threads give no significant gain.";
  }
  return statement;
}

std::vector<Statement> find_threads(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (auto lines : lines_alike_but(workload, [](Point& point) { point.threads = 0; })) {
      lines.erase(std::remove_if(lines.begin(), lines.end(), [](const Line* line) { return line->peak() == nullptr; }), lines.end());
      if (lines.size() > 1) statements.push_back(threads_statement(workload, lines));
    }
  }
  return statements;
}

const bool registered = register_finding({"threads", 50, find_threads,
                                          "Lines that differ in threads alone: the peak throughput of each against that of the fewest "
                                          "threads; efficiency is that ratio divided by the ratio of threads."});

}  // namespace
}  // namespace deepgap
