#include "worker/latency_modes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace deepgap {
namespace {

std::vector<Timing> timings_of(const std::vector<double>& latencies_ms) {
  std::vector<Timing> timings;
  for (size_t i = 0; i < latencies_ms.size(); ++i)
    timings.push_back({i, 0, 0, static_cast<Nanoseconds>(latencies_ms[i] * 1e6), 1, Status::ok});
  return timings;
}

TEST(LatencyModes, AreNamedWithTheirOrder) {
  std::vector<double> alternating, stretches, mixed, steady;
  for (size_t i = 0; i < 1000; ++i) {
    const double jitter = 0.001 * static_cast<double>(i * 7 % 13);
    alternating.push_back((i % 2 == 0 ? 2 : 3) + jitter);
    stretches.push_back((i / 20 % 2 == 0 ? 2 : 3) + jitter);
    mixed.push_back((i * i * 31 % 101 < 40 ? 2 : 3) + jitter);
    steady.push_back(2 + jitter);
  }
  EXPECT_EQ(latency_modes_text(timings_of(alternating)), "latency alternates between 2.01 ms and 3.01 ms");
  EXPECT_EQ(latency_modes_text(timings_of(stretches)), "latency changes between stretches of 2.01 ms (50 % of queries) and of 3.01 ms");
  EXPECT_TRUE(latency_modes_text(timings_of(mixed)).starts_with("latency has two modes: 2.01 ms ("));
  EXPECT_EQ(latency_modes_text(timings_of(steady)), "");
}

// Closed loop, queries of 2.3 ms on average, read from a clock of 1 ms: latencies of 1, 2 and 3 ms that are one group.
TEST(LatencyModes, TicksOfAClockAreNone) {
  std::vector<Timing> timings;
  double now_ms = 0;
  const auto reading = [](double ms) { return static_cast<Nanoseconds>(std::floor(ms)) * 1'000'000; };
  for (uint64_t i = 0; i < 1000; ++i) {
    const double begin = now_ms;
    now_ms += 2.3 + 0.05 * static_cast<double>(i * i * 31 % 17);
    timings.push_back({i, reading(begin), reading(begin), reading(now_ms), 1, Status::ok});
  }
  EXPECT_EQ(latency_modes_text(timings), "");
  EXPECT_NE(latency_modes_text(timings, true), "") << "in virtual time they are what they are";
}

TEST(LatencyModes, FailedQueriesHaveNone) {
  std::vector<double> latencies(1000, 2);
  for (size_t i = 0; i < latencies.size(); ++i) latencies[i] += 0.001 * static_cast<double>(i % 7);
  std::vector<Timing> timings = timings_of(latencies);
  for (size_t i = 0; i < timings.size(); i += 3) timings[i].end *= 2, timings[i].status = Status::failed;
  EXPECT_EQ(latency_modes_text(timings), "");
  for (Timing& timing : timings) timing.status = Status::ok;
  EXPECT_NE(latency_modes_text(timings), "");
}

}  // namespace
}  // namespace deepgap
