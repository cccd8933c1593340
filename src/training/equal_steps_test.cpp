#include "training/equal_steps.h"

#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

TEST(EqualSteps, AsManyAsFillTheDuration) {
  EXPECT_EQ(steps_in(1, 0.25), 4);
  EXPECT_EQ(steps_in(1, 0.3), 4);
  EXPECT_EQ(steps_in(0.1, 5), 2);
}

TEST(EqualSteps, ALengthThatCannotBeDividedByGivesAFewOrVeryMany) {
  EXPECT_EQ(steps_in(1, 0), 2);
  EXPECT_EQ(steps_in(1, std::numeric_limits<double>::quiet_NaN()), 2);
  EXPECT_EQ(steps_in(1e30, 1e-30), 1'000'000'000);
}

}  // namespace
}  // namespace deepgap
