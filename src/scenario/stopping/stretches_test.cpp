#include "scenario/stopping/stretches.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace deepgap {
namespace {

constexpr double second = 1e9;

// Batches of one item, back to back from `begin` for `length`; `batch_s`: how long one takes at a time in seconds.
template <typename Function>
std::vector<Timing> batches(double begin, double length, Function batch_s) {
  std::vector<Timing> timings;
  for (double now = begin; now < begin + length;) {
    const double end = now + batch_s(now);
    timings.push_back({timings.size(), {}, static_cast<Nanoseconds>(now * second), static_cast<Nanoseconds>(end * second), 1, Status::ok});
    now = end;
  }
  return timings;
}

double swinging(double now) { return 0.005 * (1 + 0.02 * std::sin(2 * std::numbers::pi * now / 1.1)); }

TEST(Stretches, SwingsOfASecondLeaveANarrowInterval) {
  const auto found = scatter_of_stretches(batches(0, 8.2, swinging), batches(8.2, 2.01, swinging));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 5);
  EXPECT_EQ(found->length, 2 * 1'000'000'000);
  EXPECT_GT(found->relative_half_width, 0);
  EXPECT_LT(found->relative_half_width, 0.01) << "batches differ by 4 %";
}

TEST(Stretches, ADriftBeforeTheWindowWidensIt) {
  const auto drifting = [](double now) { return swinging(now) * (1 + 0.005 * now); };  // 4 % in eight seconds
  const auto found = scatter_of_stretches(batches(0, 8.2, drifting), batches(8.2, 2.01, drifting));
  ASSERT_TRUE(found);
  EXPECT_GT(found->relative_half_width, 0.03);
}

TEST(Stretches, OneMoreCompletionIsNoScatter) {
  const auto even = [](double) { return 0.0703; };  // 28.4 in a stretch
  const auto found = scatter_of_stretches(batches(0, 8.4, even), batches(8.4, 2.1, even));
  ASSERT_TRUE(found);
  EXPECT_LT(found->relative_half_width, 1e-6);
}

TEST(Stretches, AWindowOfTwoStretchesIsKnownBetterThanOne) {
  const auto one = scatter_of_stretches(batches(0, 8.2, swinging), batches(8.2, 2.01, swinging));
  const auto three = scatter_of_stretches(batches(0, 8.2, swinging), batches(8.2, 6.1, swinging));
  ASSERT_TRUE(one && three);
  EXPECT_EQ(three->count, 7);
  EXPECT_LT(three->relative_half_width, one->relative_half_width);
}

TEST(Stretches, TheOrderOfTimingsDoesNotMatter) {
  auto before = batches(0, 8.2, swinging), window = batches(8.2, 2.01, swinging);
  const auto sorted = scatter_of_stretches(before, window);
  std::swap(before[10], before[500]);
  std::swap(window[3], window[4]);
  const auto mixed = scatter_of_stretches(before, window);
  ASSERT_TRUE(sorted && mixed);
  EXPECT_EQ(sorted->relative_half_width, mixed->relative_half_width);
}

TEST(Stretches, WithTooLittleBeforeThereIsNone) {
  const auto window = batches(8.2, 2.01, swinging);
  EXPECT_FALSE(scatter_of_stretches({}, window));
  EXPECT_FALSE(scatter_of_stretches(batches(0, 5, swinging), window)) << "three stretches";
  EXPECT_FALSE(scatter_of_stretches(batches(0, 8.2, swinging), batches(8.2, 0.5, swinging)));
  EXPECT_FALSE(scatter_of_stretches(batches(0, 8.2, swinging), batches(8.2, 60, swinging))) << "the window itself tells more";
  EXPECT_FALSE(scatter_of_stretches(batches(0, 8.2, swinging), {}));
  EXPECT_FALSE(scatter_of_stretches(batches(0, 9, [](double) { return 0.3; }), batches(9, 2.5, [](double) { return 0.3; })));
}

}  // namespace
}  // namespace deepgap
