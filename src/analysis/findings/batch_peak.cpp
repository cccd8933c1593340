// Finds where throughput peaks along the batch, and the smallest batch that is nearly as fast: the one to use where latency counts.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace deepgap {
namespace {

constexpr double near_peak = 0.95;

struct Sweep {
  const Line* line;
  const PointSummary *first, *last;  // the smallest and the largest batch with a usable value
  const PointSummary *peak, *enough;
};

std::optional<Sweep> sweep_of(const Line& line) {
  std::vector<const PointSummary*> points;
  for (const PointSummary* point : line.points) {
    if (point->usable() && point->find("throughput") != nullptr) points.push_back(point);
  }
  const PointSummary* peak = line.peak();
  if (points.size() < 3 || peak == nullptr) return std::nullopt;
  const double most = peak->find("throughput")->estimate.value;
  const auto enough = std::find_if(points.begin(), points.end(), [&](const PointSummary* point) {
    return point->find("throughput")->estimate.value >= near_peak * most;
  });
  return Sweep{&line, points.front(), points.back(), peak, *enough};
}

// If every line is fastest at its largest batch alone, none has shown a peak.
std::string headline_of(const std::vector<Sweep>& sweeps, int64_t least, int64_t most) {
  const bool rises = std::all_of(sweeps.begin(), sweeps.end(), [](const Sweep& sweep) { return sweep.enough == sweep.last; });
  if (rises && least == most) return fmt::format("throughput is highest at batch {}, the largest measured", most);
  if (least == most) return fmt::format("batch {} is enough to be within 5 % of the peak", least);
  return fmt::format("95 % of the peak is reached at batch {} to {}", least, most);
}

// Describes a peak at the end of the line.
std::string beyond(const Sweep& sweep) {
  if (sweep.peak != sweep.last) return "";
  const bool larger_failed = sweep.line->points.back() != sweep.last;
  return larger_failed ? "; larger ones gave no value" : "; it is the largest measured, so the peak may lie beyond";
}

std::string short_words_for(const Sweep& sweep) {
  const int64_t peak = sweep.peak->point.batch;
  if (sweep.peak == sweep.first) return fmt::format("batch {} is the fastest", peak);
  return fmt::format("batch {}, with the peak at {}{}", sweep.enough->point.batch, peak, beyond(sweep));
}

// Lines for which the same holds share a sentence.
std::string words_for_all(const std::vector<Sweep>& sweeps) {
  std::vector<std::pair<std::string, std::vector<std::string>>> sentences;  // what holds, and the lines
  for (const Sweep& sweep : sweeps) {
    const std::string words = short_words_for(sweep);
    const auto same = std::find_if(sentences.begin(), sentences.end(), [&](const auto& sentence) { return sentence.first == words; });
    if (same == sentences.end()) {
      sentences.push_back({words, {sweep.line->label}});
    } else {
      same->second.push_back(sweep.line->label);
    }
  }
  constexpr size_t most_sentences = 3, most_labels = 2;  // the fastest; the curves show the rest
  std::vector<std::string> text;
  for (const auto& [words, labels] : sentences) {
    if (text.size() < most_sentences) text.push_back(fmt::format("{}: {}.", list_of(labels, most_labels), words));
  }
  return join(text, " ");
}

std::string words_for(const Sweep& sweep) {
  const std::string& who = sweep.line->label;
  if (sweep.peak == sweep.first)
    return fmt::format("With {} batching does not help: batch {} is the fastest.", who, sweep.peak->point.batch);
  std::string text = fmt::format("{} peaks at batch {}", who, sweep.peak->point.batch);
  if (const auto gain = compare_points(*sweep.peak, *sweep.first, "throughput")) {
    text += ", " + comparison_words(*gain, fmt::format("batch {}", sweep.first->point.batch));
  }
  return text + beyond(sweep) + ".";
}

Statement batch_peak_statement(const Workload& workload, const std::vector<Sweep>& sweeps) {
  std::set<int64_t> enough;
  Statement statement;
  for (const Sweep& sweep : sweeps) {
    enough.insert(sweep.enough->point.batch);
    statement.points.push_back(sweep.enough);
    if (sweep.peak != sweep.enough) statement.points.push_back(sweep.peak);
  }
  const auto throughput = [](const Sweep& sweep) { return sweep.peak->find("throughput")->estimate.value; };
  std::vector<Sweep> fastest_first = sweeps;
  std::stable_sort(fastest_first.begin(), fastest_first.end(),
                   [&](const Sweep& a, const Sweep& b) { return throughput(a) > throughput(b); });
  const int64_t least = *enough.begin(), most = *enough.rbegin();
  statement.headline = fmt::format("{}: {}", workload.label, headline_of(sweeps, least, most));
  statement.detail = sweeps.size() == 1 ? words_for(sweeps[0]) : words_for_all(fastest_first);
  const Sweep& fastest = fastest_first.front();
  if (fastest.peak != fastest.first) statement.effect = certain_effect(compare_points(*fastest.peak, *fastest.first, "throughput"));
  return statement;
}

std::vector<Statement> find_batch_peak(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    std::vector<Sweep> sweeps;
    for (const Line& line : workload.lines) {
      if (const auto sweep = sweep_of(line)) sweeps.push_back(*sweep);
    }
    if (!sweeps.empty()) statements.push_back(batch_peak_statement(workload, sweeps));
  }
  return statements;
}

const bool registered = register_finding({"batch_peak", 20, find_batch_peak,
                                          "On each line of at least three batches: the batch with the highest throughput, and the smallest "
                                          "batch within 5 % of it. If the largest batch is the best, the peak may lie beyond it."});

}  // namespace
}  // namespace deepgap
