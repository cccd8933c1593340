#include "worker/peak_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

std::unique_ptr<Stopping> ten_seconds(double rate) {
  StoppingSettings settings;
  settings.name = "duration";
  settings.duration = 10'000 * ms;
  return until_hopeless(make_stopping(settings), parse_latency_bound("p99=15ms"), *settings.duration, rate);
}

// 100 queries a second, each `latency` long from number `from` to `to`, else 1 ms; the number at which it had enough.
int played(Stopping& stopping, Nanoseconds latency, int from, int to) {
  for (int i = 0; i < 1100; ++i) {
    Timing timing;
    timing.scheduled = timing.begin = i * 10 * ms;
    timing.end = timing.begin + (i >= from && i < to ? latency : 1 * ms);
    timing.samples = 1;
    stopping.add(std::span(&timing, 1));
    if (stopping.state() != Stopping::State::more) return i + 1;
  }
  return -1;
}

TEST(UntilHopeless, EndsWhenThePercentileIsOutOfReach) {
  const auto hopeless = ten_seconds(100);
  EXPECT_EQ(played(*hopeless, 20 * ms, 0, 1100), 200) << "as soon as the verdict has queries enough";
  EXPECT_THAT(hopeless->reason(), ::testing::HasSubstr("200 of 200 queries after 2.01 s had missed the SLO p99=15ms"));
  EXPECT_LT(played(*ten_seconds(100), 20 * ms, 500, 520), 520);
}

TEST(UntilHopeless, GoesOnWhileTheRestCouldHold) {
  EXPECT_GE(played(*ten_seconds(100), 20 * ms, 0, 10), 1000) << "10 of 1000 may miss";
  EXPECT_GE(played(*ten_seconds(100), 15 * ms, 0, 1100), 1000) << "at the bound is within it";
  EXPECT_GE(played(*ten_seconds(1000), 20 * ms, 500, 520), 1000) << "of 10000 that are offered 20 are few";
}

TEST(DrawOwnStream, ABackendWithASeedDrawsAnotherStreamInEachRepeat) {
  const OptionInfo seed{.name = "seed", .describe = "", .default_value = "1"};
  PointOptions options;
  draw_own_stream(options, {{.name = "latency", .describe = "", .default_value = "1ms"}}, 3);
  EXPECT_TRUE(options.backend.empty()) << "it draws nothing";
  draw_own_stream(options, {seed}, 0);
  EXPECT_TRUE(options.backend.empty()) << "the first is the seed's own";
  std::set<std::string> drawn;
  for (const char* given : {"1", "2"}) {
    for (int repeat = 1; repeat < 30; ++repeat) {
      options.backend["seed"] = given;
      draw_own_stream(options, {seed}, repeat);
      drawn.insert(options.backend["seed"]);
    }
  }
  EXPECT_EQ(drawn.size(), 58u);
}

TEST(DrawOwnArrivals, AnotherSeedForEachRepeat) {
  PointOptions options;
  options.seed = 7;
  draw_own_arrivals(options, {{"rate", "", ""}}, 3);
  EXPECT_TRUE(options.scenario.empty());
  draw_own_arrivals(options, {{"seed", "", ""}}, 0);
  EXPECT_EQ(options.scenario["seed"], "7");
  draw_own_arrivals(options, {{"seed", "", ""}}, 3);
  EXPECT_NE(options.scenario["seed"], "7");
  EXPECT_EQ(options.seed, 7u) << "that of the weights";
  std::set<std::string> drawn;
  for (options.arrivals = 0; options.arrivals < 5; ++options.arrivals) {
    for (int repeat = 0; repeat < 30; ++repeat) {
      draw_own_arrivals(options, {{"seed", "", ""}}, repeat);
      drawn.insert(options.scenario["seed"]);
    }
  }
  EXPECT_EQ(drawn.size(), 150u) << "no tenant has those of another one's repeat";
}

}  // namespace
}  // namespace deepgap
