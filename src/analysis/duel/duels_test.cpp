#include "analysis/duel/duels.h"

#include "analysis/duel/undisturbed_ratio.h"
#include "record/duel_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace deepgap {
namespace {

void add_duel(std::vector<Record>& records, const std::map<std::string, std::string>& options) {
  std::array<Point, 2> points;
  for (size_t i = 0; i < 2; ++i) {
    points[i].model = "m";
    points[i].backend = i == 0 ? "native" : "onnxruntime";
    points[i].options = options;
  }
  join_duel(points, "backend", std::array<std::string, 2>{"native", "onnxruntime"});
  for (const Point& point : points) {
    Record& record = records.emplace_back();
    record.point = point;
    record.verdict = Verdict::valid;
    record.estimates["throughput"] = {100, 99, 101, 100};
  }
}

TEST(Duels, HeadingsNameWhatTellsDuelsApart) {
  std::vector<Record> records;
  add_duel(records, {{"seed", "1"}, {"streams", "1"}});
  const std::vector<PointSummary> one = summarize_points(records);
  EXPECT_EQ(duels_of(one).at(0).label(), "m, fp32, batch 1, 0 threads") << "alone it has no need of more";
  add_duel(records, {{"seed", "1"}, {"streams", "2"}});
  const std::vector<PointSummary> two = summarize_points(records);
  const std::vector<DuelFound> duels = duels_of(two);
  ASSERT_EQ(duels.size(), 2u);
  EXPECT_EQ(duels[0].label(), "m, fp32, batch 1, 0 threads, streams=1");
  EXPECT_EQ(duels[1].label(), "m, fp32, batch 1, 0 threads, streams=2");
}

TEST(Duels, UndisturbedPartsDecideWhereWholeSlicesDoNot) {
  std::vector<Record> records;
  add_duel(records, {});
  records[1].estimates["duel_ratio"] = {0.95, 0.8, 1.12, 40};
  records[1].estimates[undisturbed_ratio_metric] = {0.9, 0.87, 0.93, 300};
  const std::vector<PointSummary> points = summarize_points(records);
  const DuelOutcome outcome = duels_of(points).at(0).others.at(0);
  EXPECT_EQ(outcome.standing.difference, Difference::less);
  EXPECT_THAT(outcome.words, ::testing::HasSubstr("no significant difference in throughput from native, 0.95x (0.80 to 1.12); undisturbed "
                                                  "0.90x (0.87 to 0.93)"));
}

TEST(Duels, InterleavedEnginesWithoutARatioAreComparedByTheirRepeats) {
  std::vector<Record> records;
  const auto add_start = [&](int repeat) {
    for (const char* arm : {"1/2", "2/2"}) {
      Record& record = records.emplace_back();
      record.point.model = "m";
      record.point.backend = arm[0] == '1' ? "native" : "onnxruntime";
      record.repeat = repeat;
      record.verdict = Verdict::valid;
      record.estimates["throughput"] = {100, 99, 101, 100};
      record.facts[interleaved_arm_fact] = std::string(arm);
      record.facts[interleaved_arms_fact] = std::string("native + onnxruntime");
    }
  };
  add_start(0);
  const std::vector<PointSummary> once = summarize_points(records);
  EXPECT_EQ(duels_of(once).size(), 1u) << "says why it has none";
  add_start(1);
  const std::vector<PointSummary> twice = summarize_points(records);
  EXPECT_TRUE(duels_of(twice).empty());
}

}  // namespace
}  // namespace deepgap
