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

}  // namespace
}  // namespace deepgap
