#include "base/oversleep.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Oversleep, AllowsTheMostUntilSomeSleepsWereSeen) {
  Oversleep oversleep;
  for (int i = 0; i < 15; ++i) oversleep.add(30'000);
  EXPECT_EQ(oversleep.allowance(), Oversleep::longest);
  oversleep.add(40'000);
  EXPECT_EQ(oversleep.allowance(), 45'000);
}

TEST(Oversleep, PassesOverOneInTwenty) {
  Oversleep oversleep;
  for (int i = 0; i < 512; ++i) oversleep.add(i % 128 == 0 ? 200'000 : 40'000);
  EXPECT_EQ(oversleep.allowance(), 45'000);
  for (int i = 0; i < 512; ++i) oversleep.add(i % 16 == 0 ? 200'000 : 40'000);
  EXPECT_EQ(oversleep.allowance(), 225'000);
}

// A machine that becomes slow to wake is believed before the next look is due, one that becomes quick when the slow ones are long over.
TEST(Oversleep, FollowsTheMachine) {
  Oversleep oversleep;
  for (int i = 0; i < 600; ++i) oversleep.add(24'000);
  EXPECT_EQ(oversleep.allowance(), 27'000);
  for (int i = 0; i < 26; ++i) oversleep.add(80'000);
  EXPECT_EQ(oversleep.allowance(), 90'000);
  for (int i = 0; i < 528; ++i) oversleep.add(24'000);
  EXPECT_EQ(oversleep.allowance(), 27'000);
}

TEST(Oversleep, StaysWithinItsBounds) {
  Oversleep oversleep;
  for (int i = 0; i < 16; ++i) oversleep.add(-500);
  EXPECT_EQ(oversleep.allowance(), Oversleep::shortest);
  for (int i = 0; i < 512; ++i) oversleep.add(5'000'000);
  EXPECT_EQ(oversleep.allowance(), Oversleep::longest);
}

}  // namespace
}  // namespace deepgap
