#include "analysis/decide/front_order.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::vector<std::string>& pairs, const std::string& limits) {
  try {
    parse_front_order(pairs, limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(FrontOrder, AnyTwoMetricsAndLimitsOnOthers) {
  const FrontOrder order =
      parse_front_order({"latency_p99_ms, throughput", "device_memory_mib,latency_p50_ms"}, "accuracy_loss<=1% ; throughput>=20");
  ASSERT_EQ(order.pairs.size(), 2U);
  EXPECT_EQ(order.pairs[0].first.better, Better::lower);
  EXPECT_EQ(order.pairs[0].second.better, Better::higher);
  EXPECT_EQ(order.pairs[1].second.metric, "latency_p50_ms");
  ASSERT_EQ(order.limits.size(), 2U);
  EXPECT_EQ(order.limits[0].value, 0.01);
  EXPECT_FALSE(order.limits[1].at_most);
}

TEST(FrontOrder, ALimitIsHeldByTheWorseEnd) {
  const std::vector<MetricLimit> limits = parse_front_order({"latency_p99_ms,throughput"}, "throughput>=20").limits;
  PointSummary sure, unsure, lacking;
  sure.metrics["throughput"] = {{25, 21, 29, 9}, {25, 1, 9, 9}, false};
  unsure.metrics["throughput"] = {{25, 19, 31, 9}, {25, 1, 9, 9}, false};
  EXPECT_TRUE(limits[0].holds(sure));
  EXPECT_FALSE(limits[0].holds(unsure));
  EXPECT_FALSE(limits[0].holds(lacking));
  Choosable from;
  for (const PointSummary* point : {&sure, &unsure, &lacking}) from.points.emplace_back(nullptr, point);
  EXPECT_EQ(within(from, limits).points.size(), 1U);
  EXPECT_EQ(within(from, {}).points.size(), 3U);
}

TEST(FrontOrder, WhatIsWrongIsTold) {
  EXPECT_THAT(error_of({"throughput"}, ""), HasSubstr("expected two metrics"));
  EXPECT_THAT(error_of({"throughput,throughput"}, ""), HasSubstr("expected two metrics"));
  EXPECT_THAT(error_of({"troughput,latency_p99_ms"}, ""), HasSubstr("did you mean 'throughput'"));
  EXPECT_THAT(error_of({"throughput,latency_p99_ms"}, "accuracy_loss<1"), HasSubstr("expected metric<=number"));
  EXPECT_THAT(error_of({"throughput,latency_p99_ms"}, "accuracy_loss<=much"), HasSubstr("expected metric<=number"));
  EXPECT_THAT(error_of({}, "accuracy_loss<=1"), HasSubstr("give both"));
}

}  // namespace
}  // namespace deepgap
