#include "analysis/ratio_text.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

std::string shown(double ratio, const Interval& interval, double margin = 0) {
  const RatioText text = ratio_text(ratio, interval, margin);
  return text.ratio + " (" + text.low + " to " + text.high + ")";
}

TEST(RatioText, has_the_decimals_that_its_interval_and_a_decision_need) {
  EXPECT_EQ(shown(0.9804, {0.9743, 0.9867}, 0.02), "0.98 (0.97 to 0.99)") << "2 % is within it, which 0.98 shows";
  EXPECT_EQ(shown(0.972, {0.9648, 0.9791}, 0.02), "0.972 (0.965 to 0.979)") << "slower by more than 2 %, which is 0.98";
  EXPECT_EQ(shown(0.9501, {0.94973, 0.95053}), "0.950 (0.950 to 0.951)");
  EXPECT_EQ(shown(0.7, {0.7, 0.7 + 1e-15}), "0.70 (0.70 to 0.70)") << "equal but for arithmetic";
  EXPECT_EQ(shown(1.024, {1.003, 1.045}), "1.024 (1.003 to 1.045)") << "its end would be that of equal ones";
  EXPECT_EQ(shown(1.02, {0.97, 1.07}), "1.02 (0.97 to 1.07)");
  EXPECT_EQ(shown(1, {0.983, 1.017}), "1.00 (0.98 to 1.02)");
  EXPECT_EQ(shown(1, {0.983, 1.017}, 0.02), "1.000 (0.983 to 1.017)") << "both ends are within 2 %, which 0.98 does not show";
  EXPECT_EQ(shown(1, {1, 1}), "1.00 (1.00 to 1.00)");
  EXPECT_EQ(shown(1.21, {1.149, 1.271}), "1.21 (1.15 to 1.27)");
  EXPECT_EQ(shown(0.05, {0.04, 0.06}), "0.050 (0.040 to 0.060)");
  EXPECT_EQ(shown(150, {140, 160}), "150 (140 to 160)");
}

}  // namespace
}  // namespace deepgap
