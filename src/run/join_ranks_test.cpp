#include "run/join_ranks.h"

#include "record/token_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

// A rank that answers a query of 4 samples every `gap` from `begin` to `end`.
Record rank_of(int index, Nanoseconds begin, Nanoseconds end, Nanoseconds gap) {
  Record record;
  record.point.placement.devices = {{"", "cuda", index}};
  record.verdict = Verdict::valid;
  record.windows = {{"warm_up", begin - 100, begin}, {"steady", begin, end}};
  for (Nanoseconds t = begin; t + gap <= end; t += gap) {
    record.timings.push_back({record.timings.size(), t, t, t + gap, 4, Status::ok});
  }
  const double rate = 4e9 / static_cast<double>(gap);
  record.estimates["throughput"] = {rate, rate * 0.97, rate * 1.03, 10};
  record.estimates["compute_ms"] = {static_cast<double>(index + 1), {}, {}, 10};
  record.device_memory = {100, 50, 60};
  record.series = {{"nvml", "power.cuda" + std::to_string(index), "W", false, {begin}, {1}}, {"proc", "cpu_time", "s", true, {begin}, {1}}};
  return record;
}

Point two_devices() {
  Point point;
  point.placement = {2, {{"", "cuda", 0}, {"", "cuda", 1}}};
  return point;
}

TEST(JoinRanks, CountsWhatEndedWhileAllRan) {
  const Record joined = join_ranks(two_devices(), {rank_of(0, 1'000, 11'000, 1'000), rank_of(1, 1'500, 9'500, 500)});
  EXPECT_EQ(joined.point, two_devices());
  const Window& steady = joined.windows.back();
  EXPECT_EQ(steady.begin, 1'500);
  EXPECT_EQ(steady.end, 9'500);
  // The first rank keeps those that ended at 2,000 .. 9,000, the second all 16.
  ASSERT_EQ(joined.timings.size(), 8U + 16U);
  EXPECT_TRUE(std::is_sorted(joined.timings.begin(), joined.timings.end(), [](const Timing& a, const Timing& b) { return a.end < b.end; }));
  EXPECT_DOUBLE_EQ(joined.estimates.at("throughput").value, 24 * 4 * 1e9 / 8'000);
}

TEST(JoinRanks, ThroughputAddsUpWithItsIntervalAndTheRestIsMeans) {
  const Record joined = join_ranks(two_devices(), {rank_of(0, 1'000, 11'000, 1'000), rank_of(1, 1'000, 11'000, 1'000)});
  const Estimate& throughput = joined.estimates.at("throughput");
  EXPECT_DOUBLE_EQ(throughput.value, 8e6);
  EXPECT_NEAR(*throughput.high / throughput.value, 1 + 0.03 / std::sqrt(2), 1e-9);
  EXPECT_EQ(throughput.n, 20);
  EXPECT_DOUBLE_EQ(joined.estimates.at("compute_ms").value, 1.5);
  EXPECT_EQ(joined.device_memory.reserved_bytes, 200);
  ASSERT_EQ(joined.series.size(), 3U) << "each device's own, and one process's";
}

// A token for each query, when it ends.
Record generating_rank(int index, Nanoseconds begin, Nanoseconds end, Nanoseconds gap) {
  Record record = rank_of(index, begin, end, gap);
  std::vector<TokenStream> streams;
  for (const Timing& timing : record.timings)
    streams.push_back({timing.query, timing.scheduled, timing.end, {.output = index + 1}, {{timing.end, 1, false}}});
  for (Series& series : token_series(streams)) record.series.push_back(std::move(series));
  return record;
}

TEST(JoinRanks, TheTokensOfAllRanksStayWithTheirQueries) {
  const Record joined = join_ranks(two_devices(), {generating_rank(0, 1'000, 11'000, 1'000), generating_rank(1, 2'500, 9'500, 500)});
  const std::vector<TokenStream> streams = token_streams(joined);
  ASSERT_EQ(streams.size(), joined.timings.size());
  for (size_t i = 0; i < streams.size(); ++i) {
    EXPECT_EQ(streams[i].query, joined.timings[i].query);
    EXPECT_EQ(streams[i].end, joined.timings[i].end);
    EXPECT_EQ(streams[i].counts.output, static_cast<int64_t>(streams[i].query % 2) + 1);
    ASSERT_EQ(streams[i].deliveries.size(), 1U);
    EXPECT_EQ(streams[i].deliveries[0].at, streams[i].end);
  }
}

TEST(JoinRanks, AWideIntervalEndsAboveWhatOneRankDoes) {
  std::vector<Record> ranks{rank_of(0, 1'000, 11'000, 1'000), rank_of(1, 1'000, 11'000, 1'000)};
  for (Record& rank : ranks) rank.estimates["throughput"] = {4e6, 1e6, 3e7, 10};
  EXPECT_DOUBLE_EQ(*join_ranks(two_devices(), ranks).estimates.at("throughput").low, 1e6);
}

TEST(JoinRanks, HasARowForEachRank) {
  const Record joined = join_ranks(two_devices(), {rank_of(0, 1'000, 11'000, 1'000), rank_of(1, 1'000, 6'000, 500)});
  EXPECT_EQ(std::get<std::string>(joined.facts.at("rank.1.device")), "cuda:1");
  EXPECT_DOUBLE_EQ(std::get<double>(joined.facts.at("rank.1.throughput")), 8e6);
  EXPECT_DOUBLE_EQ(std::get<double>(joined.facts.at("rank.0.window_share")), 0.5);
  EXPECT_DOUBLE_EQ(std::get<double>(joined.facts.at("rank.0.latency_p50_ms")), 0.001);
}

TEST(JoinRanks, TheWorstVerdictIsThatOfAll) {
  Record second = rank_of(1, 1'000, 11'000, 1'000);
  second.verdict = Verdict::unstable;
  second.reason = "the budget ended";
  const Record joined = join_ranks(two_devices(), {rank_of(0, 1'000, 11'000, 1'000), second});
  EXPECT_EQ(joined.verdict, Verdict::unstable);
  EXPECT_EQ(joined.reason, "rank 1 (cuda:1): the budget ended");
}

TEST(JoinRanks, WithoutACommonWindowThereIsNoResult) {
  const Record joined = join_ranks(two_devices(), {rank_of(0, 1'000, 2'000, 100), rank_of(1, 3'000, 4'000, 100)});
  EXPECT_EQ(joined.verdict, Verdict::invalid);
  EXPECT_THAT(joined.reason, testing::HasSubstr("never ran at the same time"));
  EXPECT_TRUE(joined.timings.empty());
}

}  // namespace
}  // namespace deepgap
