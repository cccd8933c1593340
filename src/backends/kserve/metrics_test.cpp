// A server's metrics: their text, a window of readings, and how they are read beside a Session.
#include "backends/http/metrics.h"

#include "backends/kserve/by_http.h"
#include "base/clocks.h"

#include <deepgap/series_source.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr Nanoseconds timeout = 10'000'000'000;

TEST(KserveMetrics, ReadsTheServersGpuMetricsAtBothEndsOfAWindow) {
  std::atomic<int> asked{0};
  ScriptedServer metrics{[&](const ScriptedRequest&) {
    const int joules = 100 * ++asked;
    return ScriptedReply{.body =
                             "# HELP nv_gpu_utilization GPU utilization rate\nnv_gpu_utilization{gpu_uuid=\"a b\"} 0.5\n"
                             "nv_gpu_utilization{gpu_uuid=\"b\"} 0.25\nnv_gpu_utilization_other 7\n"
                             "nv_gpu_memory_used_bytes{gpu_uuid=\"a b\"} 1e9\nnv_energy_consumption{gpu_uuid=\"a b\"} " +
                             std::to_string(joules) + "\n",
                         .content_type = "text/plain"};
  }};
  ScriptedServer server{ScriptedModel()};
  Rig rig(server.host(), {{"metrics", metrics.url() + "/metrics"}});
  rig.session->take_counts();
  const auto counts = rig.session->take_counts();
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_utilization"), 0.375);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_memory_used_bytes"), 1e9);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_energy_j"), 100);
  EXPECT_FALSE(counts.contains("server.gpu_power_w")) << "what is not told is not there";
  EXPECT_THAT(metrics.seen().front().path, "/metrics");
  EXPECT_THAT(failure_of([&] { Rig(server.host(), {{"metrics", server.url() + "/metrics"}}); }).what(), HasSubstr("answered 404"));
  EXPECT_THAT(failure_of([&] {
                Rig(server.host(), {{"metrics", "http://me:word@host/"}});
              }).what(),
              HasSubstr("expected http://host:port/path"));
}

TEST(KserveMetrics, ReadsTheServersGpuMetricsInAWindowToo) {
  std::atomic<int> asked{0};
  ScriptedServer metrics{[&](const ScriptedRequest&) {
    const int now = ++asked;
    if (now == 3) return ScriptedReply{.status = 500};  // is left out
    return ScriptedReply{.body = "nv_gpu_power_usage{gpu=\"0\"} " + std::to_string(100 * now) + "\nnv_gpu_memory_used_bytes " +
                                 std::to_string(now == 4 ? 9 : 1) + "\n",
                         .content_type = "text/plain"};
  }};
  const auto clock = make_real_clock();
  MetricsReader reader({metrics.url() + "/metrics", "", ""}, timeout, *clock, "double", std::chrono::milliseconds(1));
  while (asked < 6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto counts = reader.take();
  EXPECT_GE(counts.at("server.gpu_readings"), 5);
  EXPECT_GT(counts.at("server.gpu_power_w"), 100);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_memory_used_bytes"), 9) << "the most, which neither end of the window saw";
  const std::vector<Series> series = reader.take_series();
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_EQ(series[1].name, "power.gpu0");
  EXPECT_EQ(series[1].probe, "server");
  ASSERT_GE(series[1].values.size(), 5U);
  EXPECT_EQ(series[1].values[0], 100);
  EXPECT_EQ(series[1].values[2], 400) << "the third answer was none";
  EXPECT_TRUE(std::is_sorted(series[1].times.begin(), series[1].times.end()));
  EXPECT_EQ(series[1].times.size(), series[1].values.size());
  EXPECT_THAT(reader.take_series(), SizeIs(testing::Le(2))) << "what was taken is not told again";
  for (const Series& later : reader.take_series()) EXPECT_GT(later.times.front(), series[1].times.back());
}

// Reads times of its own. Other threads than the one that made it are held with the time that they have read, one after the other.
class HeldClock final : public Clock {
 public:
  Nanoseconds now() const override {
    std::unique_lock lock(mutex_);
    const Nanoseconds read = ++time_;
    if (std::this_thread::get_id() == maker_) return read;
    const int place = ++held_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_ >= place; });
    return read;
  }
  void wait_until_held(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_ >= count; });
  }
  void let_pass(int count) {
    const std::lock_guard lock(mutex_);
    released_ = count;
    changed_.notify_all();
  }
  void wait_until(Nanoseconds /*t*/) override {}
  void notify() override {}
  void schedule(Nanoseconds /*t*/, std::function<void()> /*work*/) override {}
  void attend(int /*descriptor*/, std::function<void()> /*take*/) override {}
  void release(int /*descriptor*/) override {}

 private:
  const std::thread::id maker_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable Nanoseconds time_ = 0;
  mutable int held_ = 0;
  int released_ = 0;
};

// It was asked for before the window began: taken for the window's, energy would seem to have gone back.
TEST(KserveMetrics, AReadingThatComesLateIsNotOfTheNextWindow) {
  std::atomic<int> asked{0};
  ScriptedServer metrics{[&](const ScriptedRequest&) {
    return ScriptedReply{.body = "nv_energy_consumption{gpu_uuid=\"a\"} " + std::to_string(100 * ++asked) + "\n",
                         .content_type = "text/plain"};
  }};
  HeldClock clock;
  MetricsReader reader({metrics.url(), "", ""}, timeout, clock, "double", std::chrono::milliseconds(1));
  clock.wait_until_held(1);  // 200 J, of the thread
  const auto first = reader.take();
  clock.let_pass(1);
  clock.wait_until_held(2);  // 400 J, and what was read before is kept
  const auto second = reader.take();
  clock.let_pass(std::numeric_limits<int>::max());
  EXPECT_EQ(first.at("server.gpu_energy_j"), 200) << "from 100 to 300";
  EXPECT_EQ(second.at("server.gpu_readings"), 2);
  EXPECT_EQ(second.at("server.gpu_energy_j"), 200) << "from 300 to 500";
  const std::vector<Series> series = reader.take_series();
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_TRUE(std::is_sorted(series[0].times.begin(), series[0].times.end()));
  ASSERT_GE(series[0].values.size(), 3U);
  EXPECT_THAT(std::vector<double>(series[0].values.begin(), series[0].values.begin() + 3), ElementsAre(100, 200, 300))
      << "all of them, in order";
}

TEST(KserveMetrics, IsASourceOfSeriesWhereMetricsAreRead) {
  ScriptedServer metrics{[&](const ScriptedRequest&) {
    return ScriptedReply{.body = "nv_inference_pending_request_count{model=\"double\",version=\"1\"} 7\n", .content_type = "text/plain"};
  }};
  ScriptedServer server{ScriptedModel()};
  Rig with(server.host(), {{"metrics", metrics.url() + "/metrics"}}), without(server.host());
  auto* source = dynamic_cast<SeriesSource*>(with.session.get());
  ASSERT_NE(source, nullptr);
  const std::vector<Series> series = source->take_series();
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_EQ(series[0].name, "pending_requests");
  EXPECT_THAT(series[0].values, ElementsAre(7));
  EXPECT_THAT(dynamic_cast<SeriesSource*>(without.session.get())->take_series(), SizeIs(0));
}

TEST(KserveMetrics, OfAText) {
  const ServerReading read = read_metrics(
      "# HELP nv_gpu_power_usage W\n# TYPE nv_gpu_power_usage gauge\n"
      "nv_gpu_utilization{gpu_uuid=\"GPU-b\"} 0.5\nnv_gpu_utilization{gpu_uuid=\"GPU-a\"} 0.25\n"
      "nv_gpu_power_usage{gpu_uuid=\"GPU-a\"} 90\nnv_gpu_power_usage{gpu_uuid=\"GPU-b\"} 300 1700000000000\n"
      "nv_gpu_power_usage_other 7\nnv_gpu_power_usage{gpu_uuid=\"GPU-c\"\nnv_gpu_power_usage nothing\n"
      "nv_cpu_utilization 0.75\r\n"
      "nv_inference_request_success{model=\"m\",version=\"1\"} 10\nnv_inference_request_success{model=\"m\",version=\"2\"} 5\n"
      "nv_inference_request_success{model=\"other_model\",version=\"1\"} 1000\n"
      "nv_inference_request_failure{a_model=\"m\",model=\"x\\\"m\",version=\"1\"} 3\n",
      "m");
  const ServerReading told{{{"utilization.gpu0", "1", false}, 0.5}, {{"utilization.gpu1", "1", false}, 0.25},
                           {{"power.gpu0", "W", false}, 300},       {{"power.gpu1", "W", false}, 90},
                           {{"cpu_utilization", "1", false}, 0.75}, {{"requests", "1", true}, 15}};
  EXPECT_EQ(read, told) << "GPU-b is the first that is named; what is no metric, or another model's, is left out";
  EXPECT_THAT(read_metrics("", "m"), SizeIs(0));
}

TEST(KserveMetrics, OfAWindow) {
  const auto reading = [](double utilization, double memory, std::optional<double> power, double energy) {
    ServerReading one{{{"utilization.gpu0", "1", false}, utilization},
                      {{"memory_used.gpu0", "bytes", false}, memory},
                      {{"energy.gpu0", "J", true}, energy}};
    if (power) one[{"power.gpu0", "W", false}] = *power;
    return one;
  };
  const std::vector<ServerReading> readings{reading(0.5, 10, 100, 1000), reading(1, 30, {}, 1400), reading(0.75, 20, 300, 1500)};
  const auto counts = over_window(readings);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_utilization"), 0.75);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_power_w"), 200) << "of those that told it";
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_memory_used_bytes"), 30);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_energy_j"), 500);
  const std::vector<ServerReading> restarted{reading(0.5, 10, 100, 1000), reading(1, 30, 200, 3)};
  EXPECT_FALSE(over_window(restarted).contains("server.gpu_energy_j"));
}

}  // namespace
}  // namespace deepgap
