#include "base/oversleep.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Oversleep, AllowsTheMostUntilSomeSleepsWereSeen) {
  Oversleep oversleep;
  for (int i = 0; i < 15; ++i) oversleep.add(30'000);
  EXPECT_EQ(oversleep.allowance(), Oversleep::longest);
  oversleep.add(40'000);
  EXPECT_EQ(oversleep.allowance(), 30'000);
}

TEST(Oversleep, PassesOverOneInFour) {
  Oversleep oversleep;
  for (int i = 0; i < 512; ++i) oversleep.add(i % 5 == 0 ? 200'000 : 40'000);
  EXPECT_EQ(oversleep.allowance(), 40'000);
  for (int i = 0; i < 512; ++i) oversleep.add(i % 3 == 0 ? 200'000 : 40'000);
  EXPECT_EQ(oversleep.allowance(), 200'000);
}

TEST(Oversleep, FollowsTheMachine) {
  Oversleep oversleep;
  for (int i = 0; i < 600; ++i) oversleep.add(24'000);
  EXPECT_EQ(oversleep.allowance(), 24'000);
  for (int i = 0; i < 144; ++i) oversleep.add(80'000);
  EXPECT_EQ(oversleep.allowance(), 80'000);
  for (int i = 0; i < 400; ++i) oversleep.add(24'000);
  EXPECT_EQ(oversleep.allowance(), 24'000);
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
