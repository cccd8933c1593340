#include "stats/sign_confidence.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(SignTest, ByHand) {
  EXPECT_NEAR(sign_confidence(5, 5), 31.0 / 32, 1e-15);
  EXPECT_NEAR(sign_confidence(5, 4), 26.0 / 32, 1e-15);
  EXPECT_NEAR(sign_confidence(8, 7), 1 - 9.0 / 256, 1e-15);
  EXPECT_NEAR(sign_confidence(5, 0), 0, 1e-15);
  EXPECT_EQ(sign_confidence(0, 0), 0);
}

}  // namespace
}  // namespace deepgap
