// Finds which way of running a model is fastest, at which batch, and by how much the next engine is behind.
#include "analysis/best_values.h"
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/peaks.h"
#include "analysis/words.h"
#include "record/task_traits.h"
#include "stats/multiple.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

using Peaks = std::vector<Peak>;

Precision precision_of(const Peak& peak) { return peak.line->key.precision; }

// The best peak of each other backend; where there is only one backend, of the other Lines.
Peaks rivals_of(const Peaks& peaks) {
  Peaks rivals;
  for (const Peak& peak : peaks) {
    const auto is_same = [&](const Peak& other) { return same_backend(other, peak); };
    if (is_same(peaks[0]) || std::any_of(rivals.begin(), rivals.end(), is_same)) continue;
    rivals.push_back(peak);
  }
  if (rivals.empty()) rivals.assign(peaks.begin() + 1, peaks.end());
  return rivals;
}

struct Pair {
  const Peak* first;
  const Peak* second;
};

// The fastest peaks of two backends in one precision: in that of `best` where the rival has it, else in the one in which the rival is
// fastest.
std::optional<Pair> at_equal_precision(const Peaks& peaks, const Peak& best, const Peak& rival) {
  const auto fastest = [&](const Peak& backend, Precision precision) -> const Peak* {
    const auto found = std::find_if(peaks.begin(), peaks.end(),
                                    [&](const Peak& peak) { return same_backend(peak, backend) && precision_of(peak) == precision; });
    return found == peaks.end() ? nullptr : &*found;
  };
  if (const Peak* other = fastest(rival, precision_of(best))) return Pair{&best, other};
  for (const Peak& other : peaks) {
    if (!same_backend(other, rival)) continue;
    if (const Peak* own = fastest(best, precision_of(other))) return Pair{own, &other};
  }
  return std::nullopt;
}

WorkRate rate_of(const Peak& peak) { return work_rate(peak.point->point); }

// Comparisons of the best with rivals, whatever their precision.
struct Across {
  std::vector<Comparison> comparisons;
  std::vector<std::string> rivals;

  // Names a reason that all share once, such as "single run".
  std::string text() const {
    std::vector<const Comparison*> all;
    for (const Comparison& comparison : comparisons) all.push_back(&comparison);
    if (const std::string caveat = common_caveat(all); !caveat.empty())
      return fmt::format("not compared with {} ({})", list_of(rivals, 3), caveat);
    std::vector<std::string> words;
    for (size_t i = 0; i < rivals.size(); ++i) words.push_back(comparison_words(comparisons[i], rivals[i]));
    return list_of(words, 3);
  }
};

std::string with_batch(const Peak& peak) { return fmt::format("{} at batch {}", peak.line->label, peak.point->point.batch); }

// "142.3 items/s", "46.7 tokens/s"
std::string rate_text(const Workload& workload, const Peak& best) {
  const MetricSummary* tokens = best.point->find(rate_of(best).metric);
  if (best.point->point.task == Task::generate && tokens != nullptr)
    return fmt::format("{} {}", format_estimate(tokens->estimate), rate_of(best).unit);
  return format_estimate(best_value(workload, "throughput")->value) + " items/s";
}

// A choice matters as much as the nearest rival is behind; the first comparison is with that one.
void note_effect(const std::optional<Comparison>& comparison, Statement& statement) {
  if (statement.points.size() == 1) statement.effect = certain_effect(comparison);
}

// Like with like first: a ratio at equal precision, then one across precisions. Labels name precisions where they differ.
void compare_with(const Peaks& peaks, const Peak& rival, double confidence, Statement& statement, std::vector<std::string>& equal,
                  Across& across) {
  const Peak& best = peaks[0];
  const bool one_backend = same_backend(best, rival);
  const auto like = one_backend ? std::nullopt : at_equal_precision(peaks, best, rival);
  if (like) {
    const auto comparison = compare_points(*like->first->point, *like->second->point, rate_of(best).metric, confidence);
    const std::string own = like->first != &best ? with_batch(*like->first) : equal.empty() ? std::string("That") : best.line->label;
    note_effect(comparison, statement);
    if (comparison) equal.push_back(fmt::format("{} is {}", own, comparison_words(*comparison, with_batch(*like->second))));
    statement.points.push_back(like->second->point);
  }
  if (like && like->first == &best && like->second->point == rival.point) return;
  const auto comparison = compare_points(*best.point, *rival.point, rate_of(best).metric, confidence);
  if (!comparison) return;
  note_effect(comparison, statement);
  across.comparisons.push_back(*comparison);
  across.rivals.push_back(with_batch(rival));
  statement.points.push_back(rival.point);
}

// Compares with the nearest rival at its batch, if the two are best at different ones.
void add_equal_batch(const Peaks& peaks, Statement& statement) {
  const Peaks rivals = rivals_of(peaks);
  if (rivals.empty()) return;
  const Pair pair = at_equal_precision(peaks, peaks[0], rivals[0]).value_or(Pair{&peaks[0], &rivals[0]});
  const int64_t batch = pair.second->point->point.batch;
  if (precision_of(*pair.first) != precision_of(*pair.second) || batch == pair.first->point->point.batch) return;
  const PointSummary* same = pair.first->line->at_batch(batch);
  const auto comparison = same == nullptr ? std::nullopt : compare_points(*same, *pair.second->point, rate_of(peaks[0]).metric);
  if (!comparison) return;
  statement.detail += fmt::format(" At equal batch, {}, it is {}.", batch, comparison_words(*comparison, pair.second->line->label));
  statement.points.push_back(same);
}

Statement best_engine_statement(const Workload& workload, const Peaks& peaks) {
  const Peak& best = peaks[0];
  Statement statement;
  statement.headline = fmt::format("{}: {} with {}", workload.label, rate_text(workload, best), with_batch(best));
  statement.points.push_back(best.point);
  const Peaks rivals = rivals_of(peaks);
  std::vector<std::string> equal;
  Across across;
  for (const Peak& rival : rivals) compare_with(peaks, rival, confidence_of_best(rivals.size() + 1), statement, equal, across);
  if (!equal.empty()) statement.detail = list_of(equal, 3) + ".";
  if (!across.rivals.empty()) {
    statement.detail += equal.empty() ? "That is " : fmt::format(" Across precisions, {} is ", name_of(precision_of(best)));
    statement.detail += across.text() + ".";
  }
  if (statement.detail.empty()) statement.detail = "No other engine ran this model.";
  add_equal_batch(peaks, statement);
  return statement;
}

std::vector<Statement> find_best_engine(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    const auto peaks = peaks_of(workload);
    if (!peaks.empty()) statements.push_back(best_engine_statement(workload, peaks));
  }
  return statements;
}

const bool registered =
    register_finding({"best_engine", 10, find_best_engine,
                      "The usable point with the highest throughput of each model, against the best point of each other engine at equal "
                      "precision. Then across precisions where those are faster, and at equal batch. Two differ when the interval of their "
                      "ratio leaves out 1, at a confidence that allows for the number of engines. The value is that of repeats which did "
                      "not choose the point. Candidates of a peak search are not ranked."});

}  // namespace
}  // namespace deepgap
