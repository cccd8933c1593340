#include "run/winner.h"

#include "analysis/comparison.h"
#include "analysis/peaks.h"
#include "stats/multiple.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

// The best of each engine, fastest first; where there is one engine, of each way that it ran.
std::vector<Peak> best_of(const Workload& workload) {
  const std::vector<Peak> all = peaks_of(workload);
  std::vector<Peak> engines;
  for (const Peak& best : all) {
    if (std::none_of(engines.begin(), engines.end(), [&](const Peak& other) { return same_backend(other, best); })) engines.push_back(best);
  }
  return engines.size() > 1 ? engines : all;
}

std::string name_of(const Peak& best, bool with_batch) {
  return with_batch ? fmt::format("{} at batch {}", best.line->label, best.point->point.batch) : best.line->label;
}

std::string line_of(const Workload& workload, const std::vector<Peak>& best) {
  const bool batches_differ =
      std::any_of(best.begin(), best.end(), [&](const Peak& other) { return other.point->point.batch != best[0].point->point.batch; });
  const std::string first = name_of(best[0], batches_differ), second = name_of(best[1], batches_differ);
  const auto comparison = compare_points(*best[0].point, *best[1].point, "throughput", confidence_of_best(best.size()));
  if (comparison && comparison->separable())
    return fmt::format("{}: {} is the fastest, {}", workload.label, first, comparison_words(*comparison, second));
  const std::string why = !comparison             ? std::string("one of them has no throughput")
                          : !comparison->interval ? fmt::format("{}; --repeats 5 tells more", too_few_words(*comparison))
                                                  : fmt::format("ratio {:.3g}, {:.3g} to {:.3g}", comparison->ratio,
                                                                comparison->interval->low, comparison->interval->high);
  return fmt::format("{}: whether {} or {} is faster cannot be told: {}", workload.label, first, second, why);
}

}  // namespace

std::vector<std::string> winner_lines(std::span<const PointSummary> points) {
  std::vector<std::string> lines;
  for (const Workload& workload : arrange(points)) {
    const std::vector<Peak> best = best_of(workload);
    if (best.size() > 1) lines.push_back(line_of(workload, best));
  }
  return lines;
}

}  // namespace deepgap
