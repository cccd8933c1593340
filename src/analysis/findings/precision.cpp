// Reports what a lower precision brings and what it costs in accuracy.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/one_change.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// A figure of INT8 needs this share of the multiply-accumulates in it.
constexpr double int8_claim_share = 0.95;

// Peaks, unless one of them is where the other was not measured: then a peak may be the end of what was measured.
PairOfPoints pair_of(const Line& line, const Line& base) {
  const PairOfPoints peaks{line.peak(), base.peak()};
  const bool both = base.at_batch(peaks.one->point.batch) != nullptr && line.at_batch(peaks.other->point.batch) != nullptr;
  return both ? peaks : at_common_batch(line, base).value_or(peaks);
}

std::string batches_of(const PairOfPoints& pair, const Line& line, const Line& base) {
  const int64_t one = pair.one->point.batch, other = pair.other->point.batch;
  if (one != other) return fmt::format("Batch {} against batch {}.", one, other);
  const bool peaks = pair.one == line.peak() && pair.other == base.peak();
  return peaks ? "" : fmt::format("Both at batch {}, the largest that both ran.", one);
}

void add_accuracy(const PointSummary& peak, Statement& statement) {
  const MetricSummary *accuracy = peak.find("accuracy_top1"), *loss = peak.find("accuracy_loss");
  if (accuracy == nullptr || loss == nullptr) return;
  const double points = loss->estimate.value * 100;
  if (!statement.detail.empty()) statement.detail += " ";
  statement.detail +=
      fmt::format("{1:.2f} % of {0} labelled samples are answered correctly, ", accuracy->estimate.n, accuracy->estimate.value * 100);
  statement.detail +=
      points == 0 ? "as many as in fp32." : fmt::format("{:.2f} points {} than in fp32.", std::abs(points), points > 0 ? "fewer" : "more");
}

// A speed of INT8 is none where the engine computes in something else.
void add_share(const Line& line, const PointSummary& peak, Statement& statement) {
  const MetricSummary* share = line.key.precision == Precision::int8 ? peak.find("int8_mac_share") : nullptr;
  if (share == nullptr || share->estimate.value >= int8_claim_share) return;
  if (!statement.detail.empty()) statement.detail += " ";
  statement.detail += fmt::format("The engine computes {} of the multiply-accumulates in INT8, so this is not the speed of INT8.",
                                  format_percent(share->estimate.value));
}

Statement precision_statement(const Workload& workload, const Line& line, const Line& base) {
  const PairOfPoints pair = pair_of(line, base);
  const PointSummary& peak = *pair.one;
  Statement statement;
  statement.points = {pair.one, pair.other};
  const auto gain = compare_points(peak, *pair.other, "throughput");
  statement.effect = certain_effect(gain);
  const std::string precision(name_of(line.key.precision));
  statement.headline = fmt::format("{}, {}: {} is {}", workload.label, label_without(line, precision), precision,
                                   gain ? comparison_words(*gain, "fp32") : "not comparable with fp32");
  statement.detail = batches_of(pair, line, base);
  if (peak.check) {
    if (!statement.detail.empty()) statement.detail += " ";
    statement.detail += fmt::format("Its outputs have {} dB against the {}", format_significant(peak.check->sqnr_db), peak.check->against);
    if (peak.check->top1_agreement)
      statement.detail += fmt::format("; the first class agrees for {}", format_percent(*peak.check->top1_agreement));
    statement.detail += ".";
  }
  add_accuracy(peak, statement);
  add_share(line, peak, statement);
  return statement;
}

std::vector<Statement> find_precision(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (const auto& lines : lines_alike_but(workload, [](Point& point) { point.precision = Precision::fp32; })) {
      const auto base = std::find_if(lines.begin(), lines.end(), [](const Line* line) { return line->key.precision == Precision::fp32; });
      if (base == lines.end() || (*base)->peak() == nullptr) continue;
      for (const Line* line : lines) {
        if (line != *base && line->peak() != nullptr) statements.push_back(precision_statement(workload, *line, **base));
      }
    }
  }
  return statements;
}

const bool registered =
    register_finding({"precision", 40, find_precision,
                      "Lines that differ only in precision: the peak throughput of each against that of fp32, or at the largest batch that "
                      "both ran. Adds signal-to-noise ratio and top-1 agreement of the check, and the accuracy if samples have labels."});

}  // namespace
}  // namespace deepgap
