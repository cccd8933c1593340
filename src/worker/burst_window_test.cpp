#include "worker/burst_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

struct Log final : TimingSink {
  void add(const Timing& timing) override { ends_ms.push_back(timing.end / ms); }
  std::vector<Nanoseconds> ends_ms;
};

// A GPU that is read every 20 ms and at its power limit from a time on, and queries of 5 ms, one after the other.
struct Load {
  explicit Load(Nanoseconds limit_at, Nanoseconds window = 200 * ms) : limit_at(limit_at) {
    StoppingSettings settings;
    settings.name = "duration";
    settings.duration = window;
    rule = make_stopping(settings);
  }
  void drive() {
    BurstWindow burst([this] { return seen(); }, *rule, log);
    for (; burst.state() == Stopping::State::more && now < 10'000 * ms; now += 5 * ms)
      burst.add(Timing{0, now, now, now + 5 * ms, 1, Status::ok});
    reason = burst.reason();
    reached = burst.reached_limit();
  }
  LimitWatch::Seen seen() const {
    const Nanoseconds last = (now + 5 * ms) / (20 * ms) * (20 * ms);
    const Nanoseconds below = (limit_at - 1) / (20 * ms) * (20 * ms);
    return {std::min(last, below), last >= limit_at};
  }

  Nanoseconds limit_at, now = 0;
  std::unique_ptr<Stopping> rule;
  Log log;
  std::string reason;
  bool reached = false;
};

TEST(BurstWindow, EndsAtTheLastReadingBelowTheLimit) {
  Load load(110 * ms);
  load.drive();
  EXPECT_TRUE(load.reached);
  EXPECT_EQ(load.log.ends_ms.size(), 20U);
  EXPECT_EQ(load.log.ends_ms.back(), 100) << "the reading at 120 ms shows the limit, so what ended after 100 ms may have felt it";
  EXPECT_EQ(load.reason, "the GPU came to its power limit after 100 ms");
  EXPECT_NEAR(load.rule->throughput().value, 200, 1e-9);
}

TEST(BurstWindow, BelowTheLimitItIsTheRulesWindow) {
  Load load(10'000 * ms);
  load.drive();
  EXPECT_FALSE(load.reached);
  EXPECT_EQ(load.log.ends_ms.back(), 200);
  EXPECT_EQ(load.reason, load.rule->reason());
}

TEST(BurstWindow, AGpuThatIsAtItsLimitGivesNothing) {
  Load load(1);
  load.drive();
  EXPECT_TRUE(load.reached);
  EXPECT_TRUE(load.log.ends_ms.empty());
}

TEST(BurstWindow, ARuleThatEndsWithTheLimitHasEnded) {
  Load load(210 * ms, 200 * ms);
  load.drive();
  EXPECT_FALSE(load.reached) << "its 200 ms were over before";
}

}  // namespace
}  // namespace deepgap
