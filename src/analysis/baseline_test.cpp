#include "analysis/baseline.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

PointSummary point_of(const std::string& backend, double throughput, int devices = 1, int64_t batch = 8) {
  PointSummary point;
  point.point.model = "m";
  point.point.backend = backend;
  point.point.batch = batch;
  point.point.placement.devices.clear();
  for (int i = 0; i < devices; ++i) point.point.placement.devices.push_back({"", "cuda", i});
  point.identity.device = "NVIDIA L4";
  point.verdict = Verdict::valid;
  const auto put = [&](const char* id, double value) {
    point.metrics[id] = {{value, value * 0.99, value * 1.01, 30}, {value, value * value * 2.5e-5, 29, 30}, true};
  };
  put("throughput", throughput);
  put("items_per_s_per_w", throughput / (100.0 * devices));
  put("cost_per_1000_items", devices / throughput);
  return point;
}

bool is_slow(const PointSummary& point) { return point.point.backend == "slow"; }

TEST(Baseline, RatiosHaveIntervalsAndAreNormalised) {
  std::vector<PointSummary> points{point_of("slow", 100), point_of("fast", 600, 2), point_of("fast", 50, 1, 4)};
  EXPECT_EQ(add_baseline_ratios(points, is_slow), 2U);
  const auto value = [&](const char* id) { return points[1].find(id)->estimate; };
  EXPECT_DOUBLE_EQ(value("throughput_ratio").value, 6);
  EXPECT_LT(*value("throughput_ratio").low, 6);
  EXPECT_GT(*value("throughput_ratio").high, 6);
  EXPECT_DOUBLE_EQ(value("throughput_per_device_ratio").value, 3);
  EXPECT_DOUBLE_EQ(value("items_per_s_per_w_ratio").value, 3);
  EXPECT_DOUBLE_EQ(value("items_per_cost_ratio").value, 3);
  EXPECT_DOUBLE_EQ(points[0].find("throughput_ratio")->estimate.value, 1);
  EXPECT_EQ(points[2].find("throughput_ratio"), nullptr);  // no baseline at its batch
}

TEST(Baseline, OfSeveralTheFastestUsable) {
  std::vector<PointSummary> points{point_of("slow", 100), point_of("slow", 200), point_of("slow", 400), point_of("fast", 600)};
  points[2].verdict = Verdict::invalid;
  points[1].point.threads = 4;
  add_baseline_ratios(points, is_slow);
  EXPECT_DOUBLE_EQ(points[3].find("throughput_ratio")->estimate.value, 3);
}

TEST(Scaling, IsOverOneOfTheSameDevices) {
  std::vector<PointSummary> points{point_of("a", 359.38), point_of("a", 352.71, 2), point_of("b", 10, 2)};
  add_scaling(points);
  EXPECT_NEAR(points[1].find("device_speedup")->estimate.value, 0.981, 0.001);
  EXPECT_NEAR(points[1].find("scaling_efficiency")->estimate.value, 0.491, 0.001);
  EXPECT_EQ(points[0].find("scaling_efficiency"), nullptr);
  EXPECT_EQ(points[2].find("scaling_efficiency"), nullptr);
}

// In a training, the batch is that of one process.
TEST(Scaling, OfATrainingIsWeakAndStrong) {
  std::vector<PointSummary> points{point_of("a", 1000, 1, 64), point_of("a", 1200, 1, 128), point_of("a", 1800, 2, 64)};
  for (PointSummary& point : points) point.point.task = Task::train;
  add_scaling(points);
  EXPECT_NEAR(points[2].find("scaling_efficiency")->estimate.value, 0.9, 1e-9);
  EXPECT_NEAR(points[2].find("strong_scaling_efficiency")->estimate.value, 0.75, 1e-9);
  for (PointSummary& point : points) point.point.task = Task::infer, point.metrics.erase("strong_scaling_efficiency");
  add_scaling(points);
  EXPECT_EQ(points[2].find("strong_scaling_efficiency"), nullptr) << "queries of two batches are not one of both";
}

}  // namespace
}  // namespace deepgap
