#include "analysis/metric.h"
#include "record/token_series.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

// Requests one after the other, whose answers have these tokens, one every millisecond.
Record record_of(const std::vector<int>& answers) {
  Record record;
  record.point.task = Task::generate;
  std::vector<TokenStream> streams;
  Nanoseconds now = 0;
  for (const int tokens : answers) {
    TokenStream stream{streams.size(), now, 0, {.input = 4, .output = tokens, .chunks = tokens}, {}};
    for (int i = 0; i < tokens; ++i) stream.deliveries.push_back({now += ms, 1, false});
    stream.end = now;
    record.timings.push_back({stream.query, stream.due, stream.due, stream.end, 1, Status::ok});
    streams.push_back(stream);
  }
  record.windows = {{"steady", 0, now}};
  record.series = token_series(streams);
  return record;
}

Estimate rate_of(const Record& record) { return find_metric("output_tokens_per_s")->compute(record).value(); }

TEST(TokenRates, are_tokens_over_the_window) {
  const Estimate rate = rate_of(record_of(std::vector<int>(60, 10)));
  EXPECT_NEAR(rate.value, 1000, 1e-6);
  EXPECT_NEAR(rate.low.value(), 1000, 1e-3);
}

TEST(TokenRates, that_vary_by_far_have_an_interval_of_positive_numbers) {
  std::vector<int> answers;
  for (int i = 0; i < 60; ++i) answers.push_back(i % 4 == 0 ? 40 : 1);
  const Estimate rate = rate_of(record_of(answers));
  ASSERT_TRUE(rate.low && rate.high);
  EXPECT_GT(*rate.low, 0);
  EXPECT_LT(*rate.low, rate.value);
  EXPECT_NEAR(*rate.low * *rate.high, rate.value * rate.value, 1e-6 * rate.value * rate.value) << "on a scale of logarithms";
}

}  // namespace
}  // namespace deepgap
