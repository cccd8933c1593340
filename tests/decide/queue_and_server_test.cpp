// The queue that a recommendation computes (analysis/decide/queue_estimate.h) held against what a measurement would be: our own server
// scenario and dispatcher, driven in virtual time over an engine whose batches take as long as the estimate assumes.
#include "analysis/decide/queue_estimate.h"
#include "scenario/dispatcher.h"
#include "scenario/fake_target.h"
#include "scenario/test_drive.h"
#include "stats/percentile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace deepgap {
namespace {

constexpr int64_t queries = 40'000;

struct Served {
  double p99_s = 0, mean_batch = 0;
};

// One engine that computes one batch at a time, joined from what waits, without a delay.
Served serve(const BatchTimes& times, double rate, int64_t seed) {
  Driven driven;
  ScriptedTarget* engine = nullptr;
  auto target = std::make_unique<ScriptedTarget>(*driven.clock, TargetLimits{times.largest, 1}, [&](uint64_t n) {
    const double busy_s = times.at(static_cast<int64_t>(engine->asked[n].size())).busy_s;
    return static_cast<Nanoseconds>(std::llround(busy_s * 1e9));
  });
  engine = target.get();
  DispatcherSettings settings;
  settings.max_batch = times.largest;
  settings.queue_limit = queries;
  std::vector<DispatcherInstance> instances;
  instances.push_back({"engine", std::move(target)});
  const auto dispatcher = make_dispatcher(std::move(instances), settings, *driven.clock);
  driven.drive(*dispatcher, "server", 1, counts(queries), {{"rate", std::to_string(rate)}, {"seed", std::to_string(seed)}});
  Served served;
  std::vector<double> seconds;
  for (const Timing& timing : driven.kept.timings) seconds.push_back(static_cast<double>(timing.end - timing.scheduled) / 1e9);
  served.p99_s = percentile(seconds, 99);
  served.mean_batch = static_cast<double>(seconds.size()) / static_cast<double>(engine->asked.size());
  return served;
}

// One run's p99 of a queue near its limit is uncertain by a tenth and more.
Served mean_of_runs(const BatchTimes& times, double rate) {
  constexpr int runs = 10;
  Served mean;
  for (int64_t seed = 1; seed <= runs; ++seed) {
    const Served served = serve(times, rate, seed);
    mean.p99_s += served.p99_s / runs;
    mean.mean_batch += served.mean_batch / runs;
  }
  return mean;
}

// A small network that fills its engine slowly, a large one whose batches take as long as their samples, and an engine without batches.
const BatchTimes fills{{{1, {0.001, 0}}, {8, {0.0015, 0}}, {64, {0.004, 0}}}, 64};
const BatchTimes linear{{{1, {0.004, 0}}, {8, {0.030, 0}}, {16, {0.060, 0}}}, 16};
const BatchTimes lone{{{1, {0.002, 0}}}, 1};

TEST(QueueAndServer, agree_on_latency_and_batches) {
  for (const BatchTimes* times : {&fills, &linear, &lone}) {
    const double most = static_cast<double>(times->largest) / times->at(times->largest).busy_s;
    for (const double share : {0.1, 0.4, 0.7, 0.85}) {
      const QueueEstimate estimate = estimate_queue(*times, share * most, 99, 10 * queries);
      const Served served = mean_of_runs(*times, share * most);
      EXPECT_NEAR(served.p99_s, estimate.latency_s, 0.05 * estimate.latency_s) << "at " << share << " of " << most;
      EXPECT_NEAR(served.mean_batch, estimate.mean_batch, 0.02 * estimate.mean_batch) << "at " << share << " of " << most;
    }
  }
}

TEST(QueueAndServer, the_estimated_rate_is_held_and_a_tenth_more_is_not) {
  for (const auto& [times, limit_s] : {std::pair(&fills, 0.010), std::pair(&lone, 0.020)}) {
    const double rate = highest_rate(*times, 99, limit_s, queries);
    int held = 0, missed = 0;
    for (int64_t seed = 1; seed <= 5; ++seed) {
      held += serve(*times, 0.95 * rate, seed).p99_s <= limit_s ? 1 : 0;
      missed += serve(*times, 1.1 * rate, seed).p99_s > limit_s ? 1 : 0;
    }
    EXPECT_GE(held, 4) << rate;
    EXPECT_GE(missed, 4) << rate;
  }
}

}  // namespace
}  // namespace deepgap
