// Which way of running a model is fastest, at which batch, and by how much the next engine is behind.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/peaks.h"
#include "analysis/winner_value.h"
#include "analysis/words.h"
#include "base/registry.h"
#include "stats/multiple.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace deepgap {
namespace {

std::vector<const PointSummary*> usable_points(const Workload& workload) {
  std::vector<const PointSummary*> points;
  for (const Line& line : workload.lines) {
    if (line.is_candidate()) continue;
    std::copy_if(line.points.begin(), line.points.end(), std::back_inserter(points), [](const PointSummary* p) { return p->usable(); });
  }
  return points;
}

// The rivals named: the best Line of each other backend; where there is only one backend, the other Lines.
std::vector<Peak> rivals_of(const std::vector<Peak>& peaks) {
  std::vector<Peak> rivals;
  for (const Peak& peak : peaks) {
    const auto is_same = [&](const Peak& other) { return same_backend(other, peak); };
    if (is_same(peaks[0]) || std::any_of(rivals.begin(), rivals.end(), is_same)) continue;
    rivals.push_back(peak);
  }
  if (rivals.empty()) rivals.assign(peaks.begin() + 1, peaks.end());
  return rivals;
}

class BestEngine final : public Finding {
 public:
  std::string id() const override { return "best_engine"; }
  int order() const override { return 10; }
  std::string describe() const override {
    return "The usable point with the highest throughput of each model, against the best point of each other engine, and where the nearest "
           "of "
           "them is best at another batch, both at that batch; two are separable when the interval of their ratio leaves out 1, at a "
           "confidence that allows for the number of engines. "
           "Its value is that of repeats which did not choose it. Candidates of a peak search are not ranked.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      const auto peaks = peaks_of(workload);
      if (!peaks.empty()) statements.push_back(statement(workload, peaks));
    }
    return statements;
  }

 private:
  static Statement statement(const Workload& workload, const std::vector<Peak>& peaks) {
    const Peak& best = peaks[0];
    Statement statement;
    Estimate shown = best.point->find("throughput")->estimate;
    const double shift = value_of_winner(usable_points(workload), *best.point).value_or(shown.value) - shown.value;
    shown.value += shift;
    if (shown.low) *shown.low += shift;
    if (shown.high) *shown.high += shift;
    statement.headline = fmt::format("{}: {} items/s with {} at batch {}", workload.label, format_estimate(shown), best.line->label,
                                     best.point->point.batch);
    statement.points.push_back(best.point);
    std::vector<std::string> words;
    const auto rivals = rivals_of(peaks);
    for (const Peak& rival : rivals) {
      const auto comparison = compare_points(*best.point, *rival.point, "throughput", confidence_of_best(rivals.size() + 1));
      if (!comparison) continue;
      words.push_back(comparison_words(*comparison, fmt::format("{} at batch {}", rival.line->label, rival.point->point.batch)));
      statement.points.push_back(rival.point);
    }
    if (words.empty()) {
      statement.detail = "Nothing else ran this model to compare it with.";
    } else {
      statement.detail = "That is " + list_of(words, 3) + ".";
    }
    add_equal_batch(peaks, statement);
    return statement;
  }

  // Against the nearest rival where the two peaks are at different batches: at the rival's batch.
  static void add_equal_batch(const std::vector<Peak>& peaks, Statement& statement) {
    const auto rivals = rivals_of(peaks);
    if (rivals.empty() || rivals[0].point->point.batch == peaks[0].point->point.batch) return;
    const Peak& rival = rivals[0];
    const PointSummary* same = peaks[0].line->at_batch(rival.point->point.batch);
    const auto comparison = same == nullptr ? std::nullopt : compare_points(*same, *rival.point, "throughput");
    if (!comparison) return;
    statement.detail +=
        fmt::format(" At equal batch, {}, it is {}.", rival.point->point.batch, comparison_words(*comparison, rival.line->label));
    statement.points.push_back(same);
  }
};

const bool registered = Registry<Finding>::instance().add("best_engine", [] { return std::make_unique<BestEngine>(); });

}  // namespace
}  // namespace deepgap
