#include "analysis/latency_percentile.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(LatencyPercentile, lists_are_read) {
  EXPECT_EQ(parse_percentiles("90,95,p99, 99.9,95"), (std::vector<double>{90, 95, 99, 99.9}));
  for (const char* bad : {"", "0", "100", "-5", "90,", "p", "nan", "ninety"}) EXPECT_THROW(parse_percentiles(bad), Error) << bad;
}

TEST(LatencyPercentile, columns_have_the_metrics_names_where_there_is_one) {
  EXPECT_EQ(latency_percentile_column(90), "latency_p90_ms");
  EXPECT_EQ(latency_percentile_column(99.9), "latency_p999_ms");
  EXPECT_EQ(latency_percentile_column(97), "latency_p97_ms");
  EXPECT_EQ(latency_percentile_column(99.5), "latency_p995_ms");
  EXPECT_EQ(latency_percentile_column(12.5), "latency_p12_5_ms");
}

TEST(LatencyPercentile, is_by_nearest_rank_of_the_timings) {
  Record record;
  record.verdict = Verdict::valid;
  for (int i = 1; i <= 100; ++i) record.timings.push_back({0, 0, 0, i * 1'000'000, 1, Status::ok});
  record.windows = {{"steady", 0, 100'000'000}};
  record.estimates["latency_p99_ms"] = {5, {}, {}, 1};  // known already: stays
  add_latency_percentiles(record, {97, 99});
  EXPECT_EQ(record.estimates.at("latency_p97_ms").value, 97);
  EXPECT_EQ(record.estimates.at("latency_p97_ms").n, 100);
  EXPECT_EQ(record.estimates.at("latency_p99_ms").value, 5);
  Record compact;
  add_latency_percentiles(compact, {97});
  EXPECT_TRUE(compact.estimates.empty());
}

// 5 of 100 were shed: p95 is the slowest that was answered, p96 is never.
TEST(LatencyPercentile, what_was_shed_took_for_ever) {
  Record record;
  record.verdict = Verdict::valid;
  for (int i = 1; i <= 95; ++i) record.timings.push_back({0, 0, 0, i * 1'000'000, 1, Status::ok});
  record.estimates["shed_share"] = {0.05, {}, {}, 100};
  ASSERT_TRUE(latency_percentile(record, 95));
  EXPECT_EQ(latency_percentile(record, 95)->value, 95);
  EXPECT_EQ(latency_percentile(record, 95)->n, 100);
  EXPECT_FALSE(latency_percentile(record, 96));
  add_latency_percentiles(record, {50, 96});
  EXPECT_EQ(record.estimates.at("latency_p50_ms").value, 50);
  EXPECT_FALSE(record.estimates.contains("latency_p96_ms"));
  keep_latency_sketch(record);
  ASSERT_TRUE(latency_sketch_of(record));
  EXPECT_EQ(latency_sketch_of(record)->count(), 100);
}

}  // namespace
}  // namespace deepgap
