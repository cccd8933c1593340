#include "stats/latency_bound.h"

#include "base/test_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LatencyBounds, AreOnLatencyUnlessTheyNameAnotherMetric) {
  const auto bounds = parse_latency_bounds("p99.9=2s,ttft.p99=500ms,tpot.p50=50ms");
  ASSERT_EQ(bounds.size(), 3U);
  EXPECT_EQ(bounds[0].metric, "latency");
  EXPECT_EQ(bounds[0].percent, 99.9);
  EXPECT_EQ(bounds[1].metric, "ttft");
  EXPECT_EQ(bounds[1].limit, 500'000'000);
  EXPECT_EQ(percentile_name(bounds[2]), "tpot.p50");
}

TEST(LatencyBounds, ReadersOfOneBoundTakeNoneOnTokensForOneOnLatency) {
  EXPECT_TRUE(latency_bound_from("p99=15ms"));
  EXPECT_FALSE(latency_bound_from("ttft.p99=15ms"));
  EXPECT_FALSE(latency_bound_from("p99=15ms,ttft.p99=15ms"));
}

TEST(LatencyBounds, ThatAreWrongAreNamed) {
  for (const char* text : {"ttft.p99", "wait.p99=1s", "ttft.p999999=", "p99=0s", "ttft.p99=1s,", ""})
    EXPECT_THAT(failure_of([&] { parse_latency_bounds(text); }).what(), HasSubstr("expected a percentile and its limit")) << text;
  EXPECT_THAT(failure_of([] { parse_latency_bounds("ttft.p99=1s,ttft.p50=1s"); }).what(), HasSubstr("one limit for ttft"));
}

TEST(LatencyBounds, OfAnAxisAreSetsOfDifferentMetrics) {
  EXPECT_THAT(join_bounds({"p99=15ms", "p99=20ms"}), ElementsAre("p99=15ms", "p99=20ms"));
  EXPECT_THAT(join_bounds({"ttft.p99=1s", "tpot.p99=50ms", "ttft.p99=2s", "tpot.p99=50ms"}),
              ElementsAre("ttft.p99=1s,tpot.p99=50ms", "ttft.p99=2s,tpot.p99=50ms"));
}

}  // namespace
}  // namespace deepgap
