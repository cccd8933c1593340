#include "stats/latency_sketch.h"

#include "stats/percentile.h"
#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace deepgap {
namespace {

LatencySketch sketch_of(const std::vector<double>& values) {
  LatencySketch sketch;
  for (const double value : values) sketch.add(value);
  return sketch;
}

TEST(LatencySketch, KnowsPercentilesToAQuarterOfAPercent) {
  std::mt19937_64 random(1);
  const auto values = lognormal_series(random, 20'000, 5, 0.5);
  const LatencySketch sketch = sketch_of(values);
  EXPECT_EQ(sketch.count(), 20'000);
  for (const double percent : {0.1, 10.0, 50.0, 90.0, 99.0, 99.9}) {
    EXPECT_NEAR(sketch.percentile(percent) / percentile(values, percent), 1, 0.0026) << percent;
  }
  EXPECT_LT(sketch.text().size(), 8000U);
}

TEST(LatencySketch, IsReadBackFromItsText) {
  LatencySketch sketch = sketch_of({0.001, 5, 5, 5.001, 1e6});
  sketch.add(std::numeric_limits<double>::infinity(), 2);
  const auto back = LatencySketch::from_text(sketch.text());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->text(), sketch.text());
  EXPECT_EQ(back->count(), 7);
  EXPECT_EQ(back->count_above(100), 3);
  EXPECT_TRUE(std::isinf(back->percentile(99)));
  EXPECT_NEAR(back->percentile(50), 5, 0.02);
  for (const char* wrong : {"", "1", "1:", ":1", "1:-3", "1:0", "1:2,3:4", "x:1", "-:", "1:99999999999999999999"})
    EXPECT_FALSE(LatencySketch::from_text(wrong)) << wrong;
}

TEST(LatencySketch, LeavesOutWhatIsNoLatency) {
  EXPECT_EQ(sketch_of({0, -1, std::nan("")}).count(), 0);
  EXPECT_EQ(LatencySketch().percentile(50), 0);
}

// Every run alone has one query beyond p99 on average: its own p99 is too low more often than not, all of them together are not.
TEST(PooledPercentile, RunsThatAreTooShortAloneTellTogether) {
  std::mt19937_64 random(2);
  const double truth = std::exp(0.3 * 2.3263478740408408);
  constexpr int rounds = 400;
  int has_high = 0;
  double sum = 0;
  const double covers = share_of(rounds, [&] {
    std::vector<LatencySketch> runs;
    for (int i = 0; i < 10; ++i) runs.push_back(sketch_of(lognormal_series(random, 107, 1, 0.3)));
    const auto pooled = pooled_percentile(runs, 99);
    sum += pooled->value / truth / rounds;
    has_high += pooled->high ? 1 : 0;
    return pooled->low.value_or(0) <= truth && truth <= pooled->high.value_or(1e9);
  });
  EXPECT_GE(covers, 0.95 - chance(0.05, rounds));
  EXPECT_EQ(has_high, rounds);
  EXPECT_NEAR(sum, 1, 0.02) << "their mean is 4 % too low";
}

TEST(PooledPercentile, OneSideIsToldWhereTheOtherIsNot) {
  std::mt19937_64 random(3);
  const std::vector<LatencySketch> runs{sketch_of(lognormal_series(random, 150, 1, 0.3)), sketch_of(lognormal_series(random, 150, 1, 0.3))};
  const auto pooled = pooled_percentile(runs, 99);
  ASSERT_TRUE(pooled);
  EXPECT_TRUE(pooled->low);
  EXPECT_FALSE(pooled->high) << "300 queries are fewer than 368";
  EXPECT_FALSE(pooled_percentile(std::span(runs).first(1), 99));
}

}  // namespace
}  // namespace deepgap
