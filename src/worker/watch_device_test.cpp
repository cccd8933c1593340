#include "worker/watch_device.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

// A child process that dies while it does as much as `deadly` says.
struct Child {
  bool watch = true, count = true;
  int asked = 0;
  LayerProfile take(bool dies_watching, bool dies_counting, ErrorKind kind = ErrorKind::internal) {
    return taken_with_less(watch, count, [&] {
      ++asked;
      if (dies_counting && count) throw Error(kind, "it died of signal 11");
      if (dies_watching && watch) throw Error(kind, "it died of signal 6");
      return LayerProfile{.engine = "native"};
    });
  }
};

TEST(TakenWithLess, TakesEverythingWhereNothingDies) {
  Child child;
  const LayerProfile profile = child.take(false, false);
  EXPECT_EQ(child.asked, 1);
  EXPECT_FALSE(profile.counters.has_value());
  EXPECT_EQ(profile.trace_missing, "");
}

TEST(TakenWithLess, LeavesOutCountersBeforeKernels) {
  Child child;
  const LayerProfile profile = child.take(false, true);
  EXPECT_EQ(child.asked, 2);
  EXPECT_TRUE(child.watch);
  ASSERT_TRUE(profile.counters.has_value());
  EXPECT_EQ(profile.counters->missing, "while it was counted, it died of signal 11");
  EXPECT_EQ(profile.trace_missing, "");
}

TEST(TakenWithLess, TakesTimesAloneWhereWatchingDiesToo) {
  Child child;
  const LayerProfile profile = child.take(true, true, ErrorKind::device_lost);
  EXPECT_EQ(child.asked, 3);
  EXPECT_EQ(profile.trace_missing, "while it was watched, it died of signal 6");
  EXPECT_THAT(profile.counters->missing, HasSubstr("signal 11"));
}

TEST(TakenWithLess, LetsThroughWhatIsNotWatchingsFault) {
  Child child;
  EXPECT_THROW(child.take(true, false, ErrorKind::input), Error);
  EXPECT_EQ(child.asked, 1);
  Child without{.watch = false, .count = false};
  EXPECT_THROW(taken_with_less(without.watch, without.count, []() -> LayerProfile { throw Error(ErrorKind::refused, "no such device"); }),
               Error);
}

}  // namespace
}  // namespace deepgap
