#include "stats/proportion.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

// Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998), table I, method 3.
TEST(Wilson, IsThePublishedInterval) {
  const Interval half = wilson_interval(81, 263);
  EXPECT_NEAR(half.low, 0.2553, 5e-5);
  EXPECT_NEAR(half.high, 0.3662, 5e-5);
  const Interval few = wilson_interval(15, 148);
  EXPECT_NEAR(few.low, 0.0624, 5e-5);
  EXPECT_NEAR(few.high, 0.1605, 5e-5);
  const Interval one = wilson_interval(1, 29);
  EXPECT_NEAR(one.low, 0.0061, 5e-5);
  EXPECT_NEAR(one.high, 0.1718, 5e-5);
}

TEST(Wilson, EndsAtNoneAndAll) {
  EXPECT_EQ(wilson_interval(0, 20).low, 0);
  EXPECT_NEAR(wilson_interval(0, 20).high, 0.1611, 5e-5);
  EXPECT_NEAR(wilson_interval(20, 20).low, 1 - 0.1611, 5e-5);
  EXPECT_EQ(wilson_interval(20, 20).high, 1);
}

}  // namespace
}  // namespace deepgap
