#include "analysis/ratio_text.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

std::string shown(double ratio, const Interval& interval, double margin = 0, double other_margin = 0) {
  const RatioText text = ratio_text(ratio, interval, {margin, other_margin});
  return text.ratio + " (" + text.range + ")";
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
  EXPECT_EQ(shown(0.955, {0.951, 0.959}, 0.02), "0.95 (0.95 to 0.96)");
  EXPECT_EQ(shown(0.955, {0.951, 0.959}, 0.02, 0.05), "0.955 (0.951 to 0.959)") << "beside the margin of a gate too, which is 0.952";
  EXPECT_EQ(shown(1, {1, 1}), "1.00 (1.00 to 1.00)");
  EXPECT_EQ(shown(1.21, {1.149, 1.271}), "1.21 (1.15 to 1.27)");
  EXPECT_EQ(shown(0.05, {0.04, 0.06}), "0.050 (0.040 to 0.060)");
  EXPECT_EQ(shown(150, {140, 160}), "150 (140 to 160)");
}

TEST(RatioText, noise_has_no_ends) {
  EXPECT_EQ(shown(0.96, {0.000067, 13748}), "0.96 (too noisy)");
  EXPECT_EQ(shown(0.96, {0.2, 3.9}), "0.96 (0.20 to 3.90)");
  EXPECT_EQ(shown(30, {1.1, 800}), "30.00 (1.10 to 800)") << "more than one, however wide";
  EXPECT_EQ(shown(0.972, {0.9648, 0.9791}, 0.02), "0.972 (0.965 to 0.979)");
}

TEST(RatioText, a_ratio_without_an_interval_shows_its_side_of_one) {
  EXPECT_EQ(ratio_beside_one(0.97), "0.97");
  EXPECT_EQ(ratio_beside_one(0.997), "0.997");
  EXPECT_EQ(ratio_beside_one(1.0004), "1.0004");
  EXPECT_EQ(ratio_beside_one(1), "1.00");
  EXPECT_EQ(ratio_beside_one(250), "250");
}

}  // namespace
}  // namespace deepgap
