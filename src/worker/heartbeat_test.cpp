#include "worker/heartbeat.h"

#include "worker/timing_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace deepgap {
namespace {

using namespace std::chrono_literals;

class HeartbeatTest : public ::testing::Test {
 protected:
  std::function<void(const Frame&)> collect() {
    return [this](const Frame& frame) {
      const std::lock_guard lock(mutex);
      frames.push_back(frame.header);
    };
  }
  size_t count() {
    const std::lock_guard lock(mutex);
    return frames.size();
  }
  nlohmann::json last() {
    const std::lock_guard lock(mutex);
    return frames.back();
  }
  std::mutex mutex;
  std::vector<nlohmann::json> frames;
};

TEST_F(HeartbeatTest, is_silent_while_idle_and_tells_a_phase_at_once) {
  Heartbeat heartbeat(collect(), {1ms, 10min});
  std::this_thread::sleep_for(40ms);  // some heartbeats may be sent, or none: nothing is sent either way
  EXPECT_EQ(count(), 0U);
  heartbeat.enter("load");
  EXPECT_GE(count(), 1U);
  EXPECT_EQ(last()["phase"], "load");
  EXPECT_EQ(last()["kind"], "heartbeat");
}

TEST_F(HeartbeatTest, beats_while_queries_are_finished) {
  Heartbeat heartbeat(collect(), {1ms, 10min});
  heartbeat.enter("steady");
  const auto in_vain = std::chrono::steady_clock::now() + 60s;
  while (count() < 4 && std::chrono::steady_clock::now() < in_vain) {
    heartbeat.beat();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GE(count(), 4U);
  EXPECT_GT(last()["done"].get<uint64_t>(), 0U);
}

TEST(LivenessTest, what_is_finished_is_getting_on_and_waiting_is_not) {
  Liveness liveness(10min, {0ms, 0ms, 0});
  EXPECT_TRUE(liveness.gets_on({250ms, 0ms, 1}));
  EXPECT_FALSE(liveness.gets_on({500ms, 0ms, 1}));
  EXPECT_FALSE(liveness.gets_on({750ms, 12ms, 1})) << "less than a twentieth of the time";
  EXPECT_TRUE(liveness.gets_on({1000ms, 12ms, 2}));
}

TEST(LivenessTest, using_the_processor_counts_as_getting_on_until_patience_ends) {
  Liveness liveness(200ms, {0ms, 0ms, 0});
  EXPECT_TRUE(liveness.gets_on({100ms, 5ms, 0}));
  EXPECT_TRUE(liveness.gets_on({199ms, 104ms, 0}));
  EXPECT_FALSE(liveness.gets_on({200ms, 105ms, 0}));
  EXPECT_FALSE(liveness.gets_on({450ms, 355ms, 0}));
  EXPECT_TRUE(liveness.gets_on({550ms, 355ms, 1})) << "something was finished";
  EXPECT_TRUE(liveness.gets_on({700ms, 455ms, 1})) << "from which patience begins again";
}

TEST_F(HeartbeatTest, timing_log_keeps_the_first_and_counts_the_rest) {
  Heartbeat heartbeat(collect(), {1h, 1h});
  TimingLog log(heartbeat, 20'000);
  for (uint64_t i = 0; i < 20'005; ++i) log.add({i, 0, static_cast<Nanoseconds>(i), static_cast<Nanoseconds>(i + 1), 1, Status::ok});
  EXPECT_EQ(log.count(), 20'005);
  EXPECT_EQ(log.dropped(), 5);
  EXPECT_EQ(log.begin(), 0);
  EXPECT_EQ(log.end(), 20'005);
  const std::vector<Timing> timings = log.take();
  ASSERT_EQ(timings.size(), 20'000U);
  for (uint64_t i = 0; i < timings.size(); ++i) ASSERT_EQ(timings[i].query, i);
}

// Half of the latencies are dropped, and these are the longer ones: percentiles are still those of all.
TEST_F(HeartbeatTest, timing_log_tells_percentiles_of_all_within_a_thousandth) {
  Heartbeat heartbeat(collect(), {1h, 1h});
  TimingLog log(heartbeat, 5'000);
  for (uint64_t i = 1; i <= 10'000; ++i) log.add({i, 0, 500, static_cast<Nanoseconds>(i) * 1'000, 1, Status::ok});
  const auto estimates = log.estimates_of_all();
  EXPECT_NEAR(estimates.at("latency_p50_ms").value, 5, 0.005);
  EXPECT_NEAR(estimates.at("latency_p99_ms").value, 9.9, 0.0099);
  EXPECT_NEAR(estimates.at("latency_p9999_ms").value, 9.999, 0.01);
  EXPECT_EQ(estimates.at("latency_max_ms").value, 10);
  EXPECT_EQ(estimates.at("latency_p50_ms").n, 10'000);
  EXPECT_EQ(estimates.at("queue_wait_p99_ms").value, 500e-6);
  EXPECT_NEAR(log.summarize(parse_latency_bound("p99=1ms")).at_bound, 9.9e6, 9.9e3);
  TimingLog small(heartbeat);
  small.add({0, 0, 0, 7'000, 1, Status::ok});
  EXPECT_TRUE(small.estimates_of_all().empty()) << "the timings themselves tell";
  EXPECT_EQ(small.summarize(parse_latency_bound("p99=1ms")).at_bound, 7'000);
}

}  // namespace
}  // namespace deepgap
