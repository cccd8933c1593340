#include "record/token_series.h"

#include "record/timing_block.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

// Due at 10 ms; a reasoning token at 30, one of the answer at 40, three more at 70 ms.
TokenStream example() {
  TokenStream stream{7, 10 * ms, 75 * ms, {.input = 12, .output = 5, .cached = 3, .chunks = 3}, {}};
  stream.deliveries = {{30 * ms, 1, true}, {40 * ms, 1, false}, {70 * ms, 3, false}};
  return stream;
}

Record record_of(const std::vector<TokenStream>& streams) {
  Record record;
  for (const TokenStream& stream : streams) record.timings.push_back({stream.query, stream.due, stream.due, stream.end, 1, Status::ok});
  record.series = decode_series(encode_series(token_series(streams)));
  return record;
}

TEST(TokenSeries, TimesCountFromTheDueTime) {
  const TokenStream stream = example();
  EXPECT_EQ(stream.tokens(), 5);
  EXPECT_DOUBLE_EQ(stream.ttft_ms().value(), 20);
  EXPECT_DOUBLE_EQ(stream.time_to_answer_ms().value(), 30);
  EXPECT_DOUBLE_EQ(stream.tpot_ms().value(), 10);
  EXPECT_THAT(inter_token_ms(std::vector{stream}), testing::ElementsAre(10, 10, 10, 10));
}

TEST(TokenSeries, ASingleTokenHasNoTimePerToken) {
  TokenStream stream = example();
  stream.deliveries.resize(1);
  EXPECT_TRUE(stream.ttft_ms());
  EXPECT_FALSE(stream.tpot_ms());
  stream.deliveries.clear();
  EXPECT_FALSE(stream.ttft_ms());
  EXPECT_GT(bounded_ms(stream, "ttft").value(), 1e300) << "it never comes, so that no bound is held";
  EXPECT_FALSE(bounded_ms(stream, "tpot"));
}

TEST(TokenSeries, ComeBackFromABlock) {
  TokenStream other{9, 0, 100 * ms, {.output = 0, .stop = StopReason::limit}, {}};
  const std::vector<TokenStream> streams{example(), other};
  const auto back = token_streams(record_of(streams));
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0].deliveries, streams[0].deliveries);
  EXPECT_EQ(back[0].due, 10 * ms);
  EXPECT_EQ(back[0].counts.cached, 3);
  EXPECT_TRUE(back[1].deliveries.empty());
  EXPECT_EQ(back[1].counts.stop, StopReason::limit);
  EXPECT_TRUE(token_streams(Record()).empty());
}

TEST(TokenSeries, ThatContradictEachOtherAreDamaged) {
  Record record = record_of({example()});
  for (Series& series : record.series)
    if (series.name == "deliveries") series.values[0] = 1e15;
  EXPECT_THROW(token_streams(record), Error);
  record = record_of({example()});
  for (Series& series : record.series)
    if (series.name == "input") series.values.push_back(1);
  EXPECT_THROW(token_streams(record), Error);
}

}  // namespace
}  // namespace deepgap
