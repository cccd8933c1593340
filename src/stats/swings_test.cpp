#include "stats/swings.h"

#include "stats/correlated.h"
#include "stats/test_series.h"
#include "stats/test_sources.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace deepgap {
namespace {

// Query times of 5 ms that swing by 3 % up and down.
std::vector<double> swinging(Random& random, size_t count, double period_s) {
  const QuerySource source = swings_source(random, 0.005, 0.03, period_s);
  std::vector<double> values;
  for (double now = 0; values.size() < count; now += values.back()) values.push_back(source.next(now));
  return values;
}

double relative_half_width(const std::vector<double>& values) {
  const MeanEstimate estimate = *estimate_correlated_mean(values);
  return estimate.interval().half_width() / estimate.mean;
}

TEST(Swings, WhereTimesSwingTheIntervalIsAFractionOfTheSwing) {
  Random random(1);
  const double share = share_of(200, [&] { return relative_half_width(swinging(random, 400, 0.5)) < 0.01; });
  EXPECT_GE(share, 0.9) << "a correlation of neighbours alone says 20 %";
  const double holds = share_of(1000, [&] {
    const Interval interval = estimate_correlated_mean(swinging(random, 400, 0.5))->interval();
    return interval.low <= 0.005 && 0.005 <= interval.high;
  });
  EXPECT_GE(holds, 0.95 - chance(0.95, 1000));
}

TEST(Swings, OneSwingIsNone) {
  std::vector<double> values;
  for (int i = 0; i < 64; ++i) values.push_back(std::sin(2 * std::numbers::pi * i / 64));
  EXPECT_FALSE(swing_widening(values));
}

TEST(Swings, CorrelationAloneIsNone) {
  Random random(2);
  for (const double rho : {0.0, 0.9, 0.99}) {
    const double taken = share_of(2000, [&] { return swing_widening(ar1_series(random, 48, 0, 1, rho)).has_value(); });
    EXPECT_LE(taken, 0.005) << rho;
  }
}

TEST(Swings, ConstantsAndFewValuesAreNone) {
  EXPECT_FALSE(swing_widening(std::vector<double>(64, 0)));
  EXPECT_FALSE(swing_widening(std::vector<double>{1, -1, 1, -1}));
  EXPECT_FALSE(swing_widening({}));
}

}  // namespace
}  // namespace deepgap
