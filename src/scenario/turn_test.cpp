#include "scenario/turn.h"

#include <gtest/gtest.h>

#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

struct Kept final : TimingSink {
  void add(const Timing& timing) override { timings.push_back(timing); }
  std::vector<Timing> timings;
};

class TurnTest : public testing::Test {
 protected:
  // Queries back to back, each as long as `length` gives for its number, until the turn has enough. How many there were.
  template <typename Length>
  int take(Turn& turn, Length length) {
    Nanoseconds now = 5 * ms;
    int query = 0;
    for (; turn.state() == Stopping::State::more && query < 10'000; ++query) {
      turn.add(Timing{static_cast<uint64_t>(query), now, now, now + length(query), 2, Status::ok});
      now += length(query);
    }
    return query;
  }
  Kept kept_;
};

TEST_F(TurnTest, ColdQueriesAtItsBeginningAreNotKept) {
  Turn turn(200 * ms, true, kept_);
  EXPECT_EQ(take(turn, [](int query) { return (query < 2 ? 15 : 5) * ms; }), 2 + 40);
  EXPECT_EQ(turn.left_out(), 2) << "those that begin in the first 20 ms";
  EXPECT_EQ(kept_.timings.size(), 40U);
  EXPECT_EQ(turn.begin(), 35 * ms);
  EXPECT_DOUBLE_EQ(turn.seconds(), 0.2);
  EXPECT_DOUBLE_EQ(turn.throughput().value, 400);
}

TEST_F(TurnTest, HasThreeQueriesButNoneAfterHalfASecond) {
  Turn slow(200 * ms, true, kept_);
  EXPECT_EQ(take(slow, [](int) { return 90 * ms; }), 4);
  EXPECT_EQ(slow.queries(), 3);
  Turn slower(200 * ms, false, kept_);
  EXPECT_EQ(take(slower, [](int) { return 3'000 * ms; }), 1);
  EXPECT_EQ(slower.queries(), 1);
  Turn one_at_least(200 * ms, true, kept_);
  EXPECT_EQ(take(one_at_least, [](int) { return 3'000 * ms; }), 2) << "one is left out, one is kept";
}

TEST_F(TurnTest, OneThatBroughtNothingHasNoThroughput) {
  Turn turn(200 * ms, true, kept_);
  EXPECT_EQ(turn.throughput().value, 0);
  EXPECT_EQ(take(turn, [](int) { return Nanoseconds{0}; }), 10'000) << "a clock that stands still ends nothing";
  EXPECT_EQ(turn.throughput().value, 0);
}

}  // namespace
}  // namespace deepgap
