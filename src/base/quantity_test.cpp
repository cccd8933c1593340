#include "base/quantity.h"

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

TEST(Quantity, HasFourSignificantDigitsAndNoExponent) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(2000), "2000");
  EXPECT_EQ(number_text(123456), "123,500");
  EXPECT_EQ(number_text(250), "250.0");
  EXPECT_EQ(number_text(1.5), "1.50");
  EXPECT_EQ(significant_text(12.3456, 4), "12.35");
  EXPECT_EQ(significant_text(0.000012345, 4), "0.00001235");
  EXPECT_EQ(significant_text(9.9996, 4), "10.00");
  EXPECT_EQ(number_text(-1234.6), "-1235");
  EXPECT_EQ(number_text(1e9), "1,000,000,000");
}

TEST(Quantity, PercentagesHaveNoExponent) {
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(0.01), "1 %");
  EXPECT_EQ(percent_text(0.0312), "3.1 %");
  EXPECT_EQ(percent_text(0.172), "17 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(percent_text(6.8), "680 %");
  EXPECT_EQ(percent_text(0.0004), "0.04 %");
  EXPECT_EQ(percent_text(1234), "120,000 %");
  EXPECT_EQ(percent_text(8.1e-13), "0 %");
  EXPECT_EQ(percent_text(-1e-9), "0 %");
  EXPECT_EQ(percent_text(1e15), "over 1,000,000 %");
  EXPECT_EQ(percent_text(INFINITY), "unknown");
}

TEST(Quantity, PercentagesShowTheDecisionThatWasMadeByThem) {
  EXPECT_EQ(percent_text(0.01004, 0.01), "1.004 %");
  EXPECT_EQ(percent_text(0.00998, 0.01), "0.998 %");
  EXPECT_EQ(percent_text(0.0312, 0.01), "3.1 %");
  EXPECT_EQ(percent_text(0.1249, 0.1245), "12.5 %") << "12 % would be on the other side";
  EXPECT_EQ(percent_text(0.1204, 0.12), "12.04 %");
  EXPECT_EQ(percent_text(0.01, 0.01), "1 %");
  EXPECT_EQ(percent_text(12.34, 12.3), "1234 %");
  EXPECT_EQ(plus_minus_text(0.020003, 0.02), "±2.0003 %");
  EXPECT_EQ(plus_minus_text(6.8, 0.01), "too noisy: ±680 %");
  EXPECT_EQ(plus_minus_text(INFINITY, 0.01), "unknown");
  EXPECT_EQ(percent_text(0.9996), "99.96 %") << "not all";
}

TEST(Quantity, ChosenPercentagesAreAsTheyWereGiven) {
  EXPECT_EQ(chosen_percent_text(0.0125), "1.25 %");
  EXPECT_EQ(chosen_percent_text(0.125), "12.5 %");
  EXPECT_EQ(chosen_percent_text(0.02), "2 %");
  EXPECT_EQ(chosen_percent_text(0.00033), "0.033 %");
}

TEST(Quantity, AWideIntervalSaysWhatItMeans) {
  EXPECT_EQ(plus_minus_text(0.17), "±17 %");
  EXPECT_EQ(plus_minus_text(1), "±100 %");
  EXPECT_EQ(plus_minus_text(6.8), "too noisy: ±680 %");
  EXPECT_EQ(plus_minus_text(INFINITY), "unknown");
}

TEST(Quantity, TimesAreInTheUnitThatAPersonWouldUse) {
  EXPECT_EQ(milliseconds_text(2000), "2.00 s");
  EXPECT_EQ(milliseconds_text(15.349), "15.3 ms");
  EXPECT_EQ(milliseconds_text(0.8234), "0.823 ms");
  EXPECT_EQ(milliseconds_text(999.7), "1.00 s");
  EXPECT_EQ(milliseconds_text(65000), "1 min 05 s");
}

}  // namespace
}  // namespace deepgap
