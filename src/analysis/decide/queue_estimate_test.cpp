#include "analysis/decide/queue_estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

BatchTimes one_at_a_time(double service_s) { return {{{1, {service_s, 0}}}, 1}; }

// P(wait <= t) of M/D/1, by Erlang: Erlang, "The theory of probabilities and telephone conversations", Nyt Tidsskrift for Matematik B 20
// (1909). Service takes 1. The sum alternates: good for small t.
double md1_wait_at_most(double rate, double t) {
  double sum = 0, factorial = 1;
  for (int k = 0; k <= static_cast<int>(t); ++k) {
    if (k > 0) factorial *= k;
    const double x = rate * (k - t);
    sum += std::pow(x, k) / factorial * std::exp(-x);
  }
  return (1 - rate) * sum;
}

TEST(QueueEstimate, IsMD1WhereQueriesAreTakenOneByOne) {
  for (const double rate : {0.3, 0.5, 0.7, 0.8}) {
    double t = 0;
    while (md1_wait_at_most(rate, t) < 0.9) t += 0.001;
    const QueueEstimate estimate = estimate_queue(one_at_a_time(1), rate, 90, 400'000);
    EXPECT_NEAR(estimate.latency_s, 1 + t, 0.03 * (1 + t)) << rate;
    EXPECT_NEAR(estimate.busy_share, rate, 0.01 * rate + 0.002);
    EXPECT_DOUBLE_EQ(estimate.mean_batch, 1);
  }
}

TEST(QueueEstimate, ALoneQueryWaitsForNobody) {
  const BatchTimes times{{{1, {0.002, 0.001}}, {8, {0.004, 0.001}}}, 8};
  EXPECT_NEAR(estimate_queue(times, 0.01, 99, 2000).latency_s, 0.003, 1e-6);
  EXPECT_DOUBLE_EQ(highest_rate(times, 99, 0.0029), 0);
}

TEST(QueueEstimate, BatchesFillAsTheRateRises) {
  const BatchTimes times{{{1, {0.001, 0}}, {64, {0.004, 0}}}, 64};
  EXPECT_LT(estimate_queue(times, 500, 99).mean_batch, 2);
  EXPECT_GT(estimate_queue(times, 14'000, 99).mean_batch, 30);
  const double rate = highest_rate(times, 99, 0.02);
  EXPECT_GT(rate, 0.9 * 16'000);
  EXPECT_LT(rate, 16'000);
  EXPECT_LE(estimate_queue(times, rate, 99).latency_s, 0.02);
  EXPECT_GT(highest_rate(times, 99, 0.02), highest_rate(times, 99, 0.005));
}

TEST(QueueEstimate, BetweenMeasuredSizesItIsInterpolated) {
  const BatchTimes times{{{2, {1, 0}}, {4, {2, 0.5}}}, 8};
  EXPECT_DOUBLE_EQ(times.at(1).busy_s, 1);
  EXPECT_DOUBLE_EQ(times.at(3).busy_s, 1.5);
  EXPECT_DOUBLE_EQ(times.at(3).extra_s, 0.25);
  EXPECT_DOUBLE_EQ(times.at(8).busy_s, 2);
}

}  // namespace
}  // namespace deepgap
