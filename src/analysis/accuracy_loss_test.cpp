#include "analysis/accuracy_loss.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

Record measured(Precision precision, double accuracy, const std::string& backend = "native", int64_t samples = 1000) {
  Record record;
  record.point.model = "resnet50";
  record.point.dataset = "val";
  record.point.precision = precision;
  record.point.backend = backend;
  record.verdict = Verdict::valid;
  record.estimates["accuracy_top1"] = {accuracy, accuracy - 0.02, accuracy + 0.02, samples};
  return record;
}

std::optional<double> loss_of(const std::vector<Record>& records, size_t point) {
  const auto summaries = summarize_points(records);
  const MetricSummary* loss = summaries[point].find("accuracy_loss");
  return loss == nullptr ? std::nullopt : std::optional(loss->estimate.value);
}

TEST(AccuracyLoss, IsAgainstFp32OfTheSameEngine) {
  const std::vector<Record> records{measured(Precision::int8, 0.75), measured(Precision::fp32, 0.76),
                                    measured(Precision::fp32, 0.70, "onnxruntime")};
  EXPECT_NEAR(*loss_of(records, 0), 0.01, 1e-12);
  EXPECT_EQ(*loss_of(records, 1), 0);
  EXPECT_NEAR(*loss_of({measured(Precision::int8, 0.75), measured(Precision::fp32, 0.70, "onnxruntime")}, 0), -0.05, 1e-12)
      << "another engine's, else";
}

TEST(AccuracyLoss, NeedsTheSameSamples) {
  EXPECT_EQ(loss_of({measured(Precision::int8, 0.75), measured(Precision::fp32, 0.76, "native", 500)}, 0), std::nullopt);
  Record others = measured(Precision::fp32, 0.76);
  others.point.options["labels"] = "others.csv";
  EXPECT_EQ(loss_of({measured(Precision::int8, 0.75), others}, 0), std::nullopt);
  EXPECT_EQ(loss_of({measured(Precision::int8, 0.75)}, 0), std::nullopt);
}

TEST(AccuracyLoss, RepeatsOfTheSameSamplesNarrowNoInterval) {
  const auto points = summarize_points(std::vector<Record>{measured(Precision::fp32, 0.76), measured(Precision::fp32, 0.76)});
  const MetricSummary* accuracy = points[0].find("accuracy_top1");
  ASSERT_NE(accuracy, nullptr);
  EXPECT_EQ(accuracy->estimate.n, 1000);
  EXPECT_NEAR(*accuracy->estimate.low, 0.74, 1e-12);
}

}  // namespace
}  // namespace deepgap
