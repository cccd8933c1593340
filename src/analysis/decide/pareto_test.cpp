#include "analysis/decide/pareto.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace deepgap {
namespace {

using ::testing::ElementsAre;

PointSummary point_of(const std::string& backend, Estimate throughput, Estimate latency) {
  PointSummary point;
  point.point.model = "m";
  point.point.backend = backend;
  point.verdict = Verdict::valid;
  point.metrics["throughput"] = {throughput, {throughput.value, 0, 1, 1}, false};
  point.metrics["latency_p99_ms"] = {latency, {latency.value, 0, 1, 1}, false};
  return point;
}

const std::vector<GoalMetric> both{{"throughput", Better::higher, ""}, {"latency_p99_ms", Better::lower, ""}};

// Whether `a` keeps `b` from the front. A metric is asked for twice, so that not the quick way for two metrics answers, which it checks.
bool dominates(const PointSummary& a, const PointSummary& b, std::vector<GoalMetric> metrics) {
  metrics.push_back(metrics.front());
  const std::vector<const PointSummary*> pair{&a, &b};
  const auto front = pareto_front(pair, metrics);
  return std::find(front.begin(), front.end(), &b) == front.end();
}

TEST(Pareto, DominatedOnlyWhereTheIntervalsSaySo) {
  const PointSummary slow = point_of("slow", {100, 95, 105, 9}, {10, 9.5, 10.5, 9});
  EXPECT_TRUE(dominates(point_of("a", {120, 110, 130, 9}, {8, 7.5, 8.5, 9}), slow, both));
  EXPECT_FALSE(dominates(point_of("b", {120, 100, 140, 9}, {8, 7.5, 8.5, 9}), slow, both));   // may be the slower one
  EXPECT_FALSE(dominates(point_of("c", {120, 110, 130, 9}, {11, 10.6, 12, 9}), slow, both));  // a trade-off
  EXPECT_FALSE(dominates(slow, slow, both));
  const PointSummary exact = point_of("d", {100, {}, {}, 1}, {10, {}, {}, 1});
  EXPECT_TRUE(dominates(point_of("e", {101, {}, {}, 1}, {10, {}, {}, 1}), exact, both));
  PointSummary lacking = exact;
  lacking.metrics.erase("throughput");
  const std::vector<const PointSummary*> pair{&lacking, &exact};
  EXPECT_THAT(pareto_front(pair, both), ElementsAre(&exact)) << "what lacks a metric is not on the front";
}

TEST(Pareto, TheFrontIsWhatNothingBeats) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<PointSummary> points;
    for (int i = 0; i < 12; ++i) {
      const auto any = [&] { return 1.0 + static_cast<double>(random() % 40); };
      const double throughput = any(), latency = any();
      const double width = random() % 2 == 0 ? 0 : 0.2;
      points.push_back(point_of(std::to_string(i), {throughput, throughput * (1 - width), throughput * (1 + width), 3},
                                {latency, latency * (1 - width), latency * (1 + width), 3}));
    }
    std::vector<const PointSummary*> all;
    for (const PointSummary& point : points) all.push_back(&point);
    const auto front = pareto_front(all, both);
    ASSERT_FALSE(front.empty());
    for (const PointSummary* point : all) {
      const bool on_front = std::count(front.begin(), front.end(), point) > 0;
      const bool beaten = std::any_of(all.begin(), all.end(), [&](const PointSummary* other) { return dominates(*other, *point, both); });
      ASSERT_EQ(on_front, !beaten);
    }
  }
}

TEST(BestByGoal, LeavesOutWhatCannotBeTrusted) {
  std::vector<PointSummary> points{point_of("a", {100, 99, 101, 9}, {10, 9, 11, 9}), point_of("b", {80, 79, 81, 9}, {5, 4, 6, 9}),
                                   point_of("c", {900, 899, 901, 9}, {1, 1, 1, 9})};
  points[2].unchecked = true;
  const auto workloads = arrange(points);
  const auto rows = best_by_goal(workloads.at(0));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].point->point.backend, "a");
  EXPECT_EQ(rows[0].next->point.backend, "b");
  EXPECT_DOUBLE_EQ(rows[0].over_next->ratio, 1.25);
  EXPECT_EQ(rows[1].point->point.backend, "b");
  EXPECT_TRUE(choosable(workloads.at(0)).all_trusted);
}

}  // namespace
}  // namespace deepgap
