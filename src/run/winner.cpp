#include "run/winner.h"

#include "analysis/comparison.h"
#include "analysis/peaks.h"
#include "analysis/ratio_text.h"
#include "analysis/words.h"
#include "base/quantity.h"
#include "record/task_traits.h"
#include "stats/multiple.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace deepgap {
namespace {

using Same = bool (*)(const Peak&, const Peak&);

std::vector<Peak> first_of_each(const std::vector<Peak>& all, Same same) {
  std::vector<Peak> first;
  for (const Peak& best : all) {
    if (std::none_of(first.begin(), first.end(), [&](const Peak& other) { return same(other, best); })) first.push_back(best);
  }
  return first;
}

bool differ_in_load_alone(const Peak& a, const Peak& b) { return label_without_load(*a.line) == label_without_load(*b.line); }

// The best of each engine, fastest first; where there is one engine, of each way that it ran: eight clients are no faster way than one.
std::vector<Peak> best_of(const Workload& workload) {
  const std::vector<Peak> all = peaks_of(workload);
  const std::vector<Peak> engines = first_of_each(all, same_backend);
  return engines.size() > 1 ? engines : first_of_each(all, differ_in_load_alone);
}

// Two engines and more that were all asked at a rate.
bool only_offered(const Workload& workload) {
  std::set<std::string> engines;
  for (const Line& line : workload.lines) {
    const PointSummary* point = line.peak();
    if (point != nullptr && point->offers_load()) engines.insert(line.key.backend);
  }
  return engines.size() > 1;
}

std::string name_of(const Peak& best, bool with_batch) {
  return with_batch ? fmt::format("{} at batch {}", best.line->label, best.point->point.batch) : best.line->label;
}

WinnerLine line_of(const Workload& workload, const std::vector<Peak>& best) {
  const bool batches_differ =
      std::any_of(best.begin(), best.end(), [&](const Peak& other) { return other.point->point.batch != best[0].point->point.batch; });
  const std::string first = name_of(best[0], batches_differ), second = name_of(best[1], batches_differ);
  const auto comparison =
      compare_points(*best[0].point, *best[1].point, work_rate(best[0].point->point).metric, confidence_of_best(best.size()));
  if (comparison && comparison->separable())
    return {fmt::format("{}: {} is the fastest, {}", workload.label, first, comparison_words(*comparison, second))};
  if (!comparison) return {fmt::format("{}: {} vs {}: not compared, one of them has no throughput", workload.label, first, second)};
  if (!comparison->interval) {
    const Point& point = best[0].point->point;
    const bool can_duel = point.backend != best[1].point->point.backend && task_traits(point.task).takes_turns;
    return {fmt::format("{}: {} vs {}: not compared ({}); add --repeats 5{}", workload.label, first, second, why_too_few(*comparison),
                        can_duel ? ", or --duel backend, which answers sooner" : "")};
  }
  const auto [ratio, range] = ratio_text(comparison->ratio, *comparison->interval);
  return {fmt::format("{}: {} vs {}: no significant difference, {}x ({})", workload.label, first, second, ratio, range), true};
}

// Describes a workload that was measured in one way: what it reaches.
std::string only_line(const Workload& workload, const Peak& best) {
  const WorkRate rate = work_rate(best.point->point);
  const MetricSummary* throughput = best.point->find(rate.metric);
  if (throughput == nullptr) return {};
  const auto& [value, low, high] = std::tie(throughput->estimate.value, throughput->estimate.low, throughput->estimate.high);
  const std::string interval = is_of_two(*throughput) || !low || !high || *low == *high
                                   ? format_interval(*throughput)
                                   : fmt::format("{} to {}", number_text(*low), number_text(*high));
  return fmt::format("{}: {} at batch {} reaches {} {}{}{}", workload.label, best.line->label, best.point->point.batch, number_text(value),
                     rate.unit, interval.empty() ? "" : fmt::format(" ({}{})", is_of_two(*throughput) ? "" : "95 % CI ", interval),
                     best.point->verdict == Verdict::unstable ? ", unstable" : "");
}

}  // namespace

std::vector<WinnerLine> winner_lines(std::span<const PointSummary> points) {
  std::vector<WinnerLine> lines;
  for (const Workload& workload : arrange(points)) {
    const std::vector<Peak> best = best_of(workload);
    if (best.size() > 1) {
      lines.push_back(line_of(workload, best));
    } else if (best.size() == 1) {
      if (const std::string line = only_line(workload, best[0]); !line.empty()) lines.push_back({line});
    } else if (best.empty() && only_offered(workload)) {
      lines.push_back({fmt::format("{}: throughput is the offered load here, so it does not rank engines; use deepgap compare --metric {}",
                                   workload.label, metric_of_open_loops)});
    }
  }
  return lines;
}

}  // namespace deepgap
