#include "worker/burst_window.h"

#include "base/clocks.h"
#include "scenario/fake_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
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

// A GPU that is read at the end of each query, and at its limit from 100 ms on.
TEST(BurstWindow, EveryLoopThatTakesAllEndsAtTheLimit) {
  for (const char* scenario : {"batch", "offline", "single-stream"}) {
    const auto clock = make_virtual_clock();
    ScriptedTarget target(*clock, {1, 1}, [](uint64_t) { return 5 * ms; });
    StoppingSettings settings;
    settings.name = "duration";
    settings.duration = 1000 * ms;
    const auto rule = make_stopping(settings);
    Log log;
    BurstWindow burst([&] { return LimitWatch::Seen{std::min(clock->now(), 100 * ms), clock->now() > 100 * ms}; }, *rule, log);
    Traffic traffic{&target, {0}, 1, &burst, &burst};
    const auto made = Registry<Scenario>::instance().make("scenario", scenario);
    made->parse({});
    const std::atomic<bool> interrupted = false;
    made->drive(traffic, *clock, interrupted);
    EXPECT_TRUE(burst.reached_limit()) << scenario;
    ASSERT_FALSE(log.ends_ms.empty()) << scenario;
    EXPECT_LE(log.ends_ms.back(), 100) << scenario;
    EXPECT_GE(log.ends_ms.back(), 90) << scenario;
    EXPECT_LT(clock->now(), 200 * ms) << scenario << " goes on no longer";
  }
}

}  // namespace
}  // namespace deepgap
