#include "telemetry/limit_watch.h"

#include "base/clocks.h"
#include "base/throttle.h"

#include <gtest/gtest.h>

#include <atomic>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

TEST(LimitWatch, KeepsTheLastReadingBelowTheLimit) {
  const auto clock = make_virtual_clock();
  double power_w = 400;
  LimitWatch watch(*clock, {[&] { return GpuReading{.power_w = power_w, .power_limit_w = 700}; }});
  EXPECT_TRUE(watch.knows_limits());
  EXPECT_EQ(watch.seen().below_until, INT64_MIN) << "nothing was read";
  clock->wait_until(10 * ms);
  watch.read();
  EXPECT_EQ(watch.seen().below_until, 10 * ms);
  power_w = 690;
  clock->wait_until(30 * ms);
  watch.read();
  EXPECT_EQ(watch.seen().below_until, 10 * ms);
  EXPECT_TRUE(watch.seen().reached);
  power_w = 400;
  clock->wait_until(50 * ms);
  watch.read();
  EXPECT_EQ(watch.seen().below_until, 10 * ms) << "what comes after the limit is no burst";
}

TEST(LimitWatch, OneOfSeveralGpusReachesItByItsClocks) {
  const auto clock = make_virtual_clock();
  LimitWatch watch(*clock, {[] { return GpuReading{.power_w = 400, .power_limit_w = 700}; },
                            [] { return GpuReading{.power_w = 400, .power_limit_w = 700, .throttle_reasons = throttled_by_power}; }});
  watch.read();
  EXPECT_TRUE(watch.seen().reached);
}

TEST(LimitWatch, WithoutReadingsNoLimitIsKnown) {
  const auto clock = make_virtual_clock();
  EXPECT_FALSE(LimitWatch(*clock, {}).knows_limits());
  EXPECT_FALSE(LimitWatch(*clock, {[] { return GpuReading{}; }}).knows_limits());
}

TEST(LimitWatch, TheThreadReadsUntilTheLimitIsReached) {
  const auto clock = make_real_clock();
  std::atomic<int> readings = 0;
  LimitWatch watch(*clock, {[&] { return GpuReading{.power_w = ++readings < 3 ? 400.0 : 700.0, .power_limit_w = 700}; }});
  watch.start();
  while (!watch.seen().reached) std::this_thread::yield();
  EXPECT_EQ(readings, 3);
  EXPECT_GT(watch.seen().below_until, INT64_MIN);
}

}  // namespace
}  // namespace deepgap
