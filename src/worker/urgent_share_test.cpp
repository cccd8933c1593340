#include "worker/urgent_share.h"

#include "base/clocks.h"
#include "scenario/dispatcher.h"
#include "scenario/fake_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

constexpr Nanoseconds latency = 1'000'000;

// Ten queries at once, a fifth of them urgent, on an instance that takes one at a time.
TEST(UrgentShare, UrgentQueriesGoFirstAndAreCountedApart) {
  const auto clock = make_virtual_clock();
  std::vector<DispatcherInstance> instances;
  auto scripted = std::make_unique<ScriptedTarget>(*clock, TargetLimits{1, 1}, [](uint64_t) { return latency; });
  const ScriptedTarget& instance = *scripted;
  instances.push_back({"null", std::move(scripted)});
  DispatcherSettings settings;
  settings.priorities = 2;
  settings.queue_limit = 64;
  const auto dispatcher = make_dispatcher(std::move(instances), settings, *clock);
  UrgentShare target(*dispatcher, 0.2, *clock);
  int answered = 0;
  target.on_completion([&](std::span<const Completed> completed) {
    answered += static_cast<int>(completed.size());
    clock->notify();
  });
  EXPECT_TRUE(target.estimates().empty());
  std::vector<std::vector<uint32_t>> samples;
  for (uint32_t i = 0; i < 10; ++i) samples.push_back({i});
  std::vector<Query> queries;
  for (uint32_t i = 0; i < 10; ++i) queries.push_back({i, 0, samples[i]});
  target.submit(queries);
  while (answered < 10) clock->wait_until(never);
  const std::vector<std::vector<uint32_t>> order{{4}, {9}, {0}, {1}, {2}, {3}, {5}, {6}, {7}, {8}};
  EXPECT_EQ(instance.asked, order);
  const auto estimates = target.estimates();
  EXPECT_NEAR(estimates.at("urgent_latency_p99_ms").value, 2, 0.01);
  EXPECT_NEAR(estimates.at("other_latency_p99_ms").value, 10, 0.05);
  EXPECT_EQ(estimates.at("urgent_latency_p50_ms").n, 2);
  EXPECT_EQ(estimates.at("other_latency_p50_ms").n, 8);
}

}  // namespace
}  // namespace deepgap
