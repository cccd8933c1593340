#include "analysis/energy.h"

#include "analysis/metric.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;

// A GPU whose counter moves every 100 ms, read every 100 ms from 0 to `length`; `watts(t)` is its power at t seconds.
Series counter_of(const std::function<double(double)>& watts, Nanoseconds length, double start = 1000, Nanoseconds phase = 37 * ms) {
  Series series{"nvml", "energy.cuda0", "J", true, {}, {}};
  double joules = start, shown = start;
  for (Nanoseconds t = 0; t <= length; t += ms) {
    joules += watts(static_cast<double>(t) / 1e9) * 1e-3;
    if (t % (100 * ms) == phase) shown = joules;
    if (t % (100 * ms) == 0) {
      series.times.push_back(t);
      series.values.push_back(shown);
    }
  }
  return series;
}

Series power_of(const std::function<double(double)>& watts, Nanoseconds length) {
  Series series{"nvml", "power.cuda0", "W", false, {}, {}};
  for (Nanoseconds t = 0; t <= length; t += 100 * ms) {
    series.times.push_back(t);
    series.values.push_back(watts(static_cast<double>(t) / 1e9));
  }
  return series;
}

Record on_gpu(Nanoseconds begin, Nanoseconds end) {
  Record record;
  record.point.placement.devices = {{"", "cuda", 0}};
  record.verdict = Verdict::valid;
  record.windows = {{"steady", begin, end}};
  return record;
}

double flat(double) { return 400; }

TEST(Energy, a_counter_that_moves_in_steps_holds_the_truth_in_its_interval) {
  Record record = on_gpu(3 * second + 13 * ms, 13 * second + 71 * ms);  // 10.058 s of 400 W
  record.series = {counter_of(flat, 20 * second)};
  const auto energy = counted_energy(record, record.windows[0]).value();
  EXPECT_NEAR(energy.joules, 4023.2, energy.half_width);
  EXPECT_LT(energy.half_width, 0.02 * energy.joules) << "100 ms of 10 s are 1 %, and the edges lie between readings";
  record.windows[0].end = 4 * second;
  EXPECT_GT(counted_energy(record, record.windows[0])->half_width, 0.05 * 400) << "a short window has a wide interval";
}

TEST(Energy, slower_steps_than_thought_are_seen) {
  Series slow{"nvml", "energy.cuda0", "J", true, {}, {}};
  for (int i = 0; i <= 100; ++i) {
    slow.times.push_back(i * 100 * ms);
    slow.values.push_back(std::floor(i / 5.0) * 200);  // every half second
  }
  EXPECT_DOUBLE_EQ(observed_step_s(slow, {"steady", 0, 10 * second}), 0.5);
  EXPECT_DOUBLE_EQ(observed_step_s(counter_of(flat, 10 * second), {"steady", 0, 10 * second}), 0.1);
}

TEST(Energy, a_counter_that_wraps_goes_on) {
  Record record = on_gpu(2 * second, 12 * second);
  record.series = {counter_of(flat, 15 * second, 4294967.296 - 2000)};
  for (double& value : record.series[0].values) value = std::fmod(value, 4294967.296);
  ASSERT_LT(record.series[0].values.back(), 5000) << "it wrapped";
  const auto energy = counted_energy(record, record.windows[0]).value();
  EXPECT_NEAR(energy.joules, 4000, energy.half_width);
  EXPECT_LT(energy.half_width, 80);
}

TEST(Energy, a_counter_that_starts_again_loses_one_step_and_says_so) {
  Record record = on_gpu(2 * second, 12 * second);
  record.series = {counter_of(flat, 15 * second)};
  auto& values = record.series[0].values;
  const double at_reset = values[70];
  for (size_t i = 70; i < values.size(); ++i) values[i] -= at_reset - 3;
  const auto energy = counted_energy(record, record.windows[0]).value();
  EXPECT_NEAR(energy.joules, 4000, energy.half_width);
  EXPECT_GT(energy.half_width, 40) << "the step of 100 ms and 400 W is a guess";
}

TEST(Energy, a_reading_that_is_no_number_gives_no_value) {
  Record record = on_gpu(2 * second, 12 * second);
  record.series = {counter_of(flat, 15 * second)};
  record.series[0].values[50] = NAN;
  compute_metrics(record);
  EXPECT_EQ(record.estimates.count("energy_j"), 0u);
  EXPECT_EQ(record.estimates.count("power_w"), 0u);
}

TEST(Energy, only_the_devices_of_the_point_count) {
  Record record = on_gpu(second, 9 * second);
  Series other = counter_of([](double) { return 100.0; }, 10 * second);
  other.name = "energy.cuda1";
  Series package = counter_of([](double) { return 50.0; }, 10 * second);
  package.name = "energy.package-0";
  record.series = {counter_of(flat, 10 * second), other, package};
  const auto watts = [&] { return counted_energy(record, record.windows[0])->joules / 8; };
  EXPECT_NEAR(watts(), 400, 1);
  record.point.placement.devices.push_back({"", "cuda", 1});
  EXPECT_NEAR(watts(), 500, 1);
  record.point.placement.devices = {{"", "cpu", 0}};
  EXPECT_NEAR(watts(), 50, 1);
  record.point.placement.devices = {{"", "cuda", 0}, {"", "cuda", 2}};
  EXPECT_FALSE(counted_energy(record, record.windows[0])) << "a sum that lacks a device is no sum";
}

TEST(Energy, metrics_have_the_counter_first_and_power_beside_it) {
  Record record = on_gpu(6 * second, 16 * second);
  record.windows.push_back({"idle", 0, 5 * second});
  const auto watts = [](double t) { return t < 5.5 ? 80.0 : 400.0; };
  record.series = {counter_of(watts, 20 * second), power_of([](double t) { return t < 5.5 ? 80.0 : 408.0; }, 20 * second)};
  for (int i = 0; i < 1000; ++i) {
    const Nanoseconds begin = 6 * second + i * 10 * ms;
    record.timings.push_back({static_cast<uint64_t>(i), begin, begin, begin + 10 * ms, 8, Status::ok});
  }
  compute_metrics(record);
  const auto& e = record.estimates;
  EXPECT_NEAR(e.at("power_w").value, 400, 4);
  EXPECT_NEAR(e.at("energy_j_per_item").value, 0.5, 0.005);
  EXPECT_LT(*e.at("energy_j_per_item").low, 0.5);
  EXPECT_GT(*e.at("energy_j_per_item").high, 0.5);
  EXPECT_NEAR(e.at("energy_sampled_j_per_item").value, 0.51, 0.001);
  EXPECT_NEAR(e.at("idle_power_w").value, 80, 0.1);
  EXPECT_NEAR(e.at("energy_above_idle_j_per_item").value, 0.4, 0.005);
  EXPECT_NEAR(e.at("items_per_s_per_w").value, 2, 0.02);
}

// Four training steps of 20 ms beside a counter of 100 ms: on an H200 such windows came out at 0 W and at 956 W (of 700).
TEST(Energy, a_window_that_the_counter_cannot_tell_has_no_energy) {
  for (const Nanoseconds length : {40 * ms, 80 * ms, 140 * ms, 160 * ms, 400 * ms}) {
    Record record = on_gpu(2 * second + 30 * ms, 2 * second + 30 * ms + length);
    record.series = {counter_of(flat, 5 * second)};
    for (Nanoseconds begin = record.windows[0].begin; begin < record.windows[0].end; begin += 20 * ms)
      record.timings.push_back({0, begin, begin, begin + 20 * ms, 64, Status::ok});
    compute_metrics(record);
    for (const char* id : {"energy_j", "power_w", "energy_j_per_item", "power_long_run_w"}) {
      const bool there = record.estimates.contains(id);
      EXPECT_TRUE(there || length < 200 * ms) << id << " of " << length / ms << " ms";
      EXPECT_FALSE(there && length < 100 * ms) << id << " of " << length / ms << " ms";
      EXPECT_FALSE(there && record.estimates.at(id).low && *record.estimates.at(id).low <= 0) << id;
    }
  }
}

double half_width(const Estimate& e) { return e.low && e.high ? (*e.high - *e.low) / 2 : 0; }

// Returns the Record of a run whose power goes up and down by half, and its throughput with it where `coupled`.
Record up_and_down(bool coupled) {
  Record record = on_gpu(2 * second, 32 * second);
  const auto watts = [](double t) { return std::fmod(t, 1.7) < 0.85 ? 300.0 : 500.0; };
  record.series = {counter_of(watts, 35 * second), power_of(watts, 35 * second)};
  Nanoseconds t = 2 * second;
  for (uint64_t i = 0; t < 32 * second; ++i) {
    const Nanoseconds next = t + (coupled && watts(static_cast<double>(t) / 1e9) > 400 ? 6 * ms : 10 * ms);
    if (next <= 32 * second) record.timings.push_back({i, t, t, next, 8, Status::ok});
    t = next;
  }
  return record;
}

TEST(Energy, what_a_counter_holds_of_a_window_does_not_scatter_with_the_power) {
  Record record = up_and_down(false);
  Record counter_alone = record;
  counter_alone.series.resize(1);
  for (Record* each : {&record, &counter_alone}) compute_metrics(*each);
  for (const char* id : {"energy_j", "power_w", "energy_j_per_item", "items_per_s_per_w"}) {
    EXPECT_DOUBLE_EQ(half_width(record.estimates.at(id)), half_width(counter_alone.estimates.at(id))) << id;
    EXPECT_LT(half_width(record.estimates.at(id)), 0.005 * record.estimates.at(id).value) << id << ": a step of 100 ms in 30 s";
  }
  EXPECT_GT(half_width(record.estimates.at("power_w")), 0) << "the steps are not nothing";
}

TEST(Energy, the_long_run_mean_scatters_with_the_power) {
  Record record = up_and_down(false);
  compute_metrics(record);
  const Estimate& own = record.estimates.at("power_w");
  const Estimate& mean = record.estimates.at("power_long_run_w");
  EXPECT_DOUBLE_EQ(mean.value, own.value);
  EXPECT_GT(half_width(mean), 3 * half_width(own));
  EXPECT_LT(half_width(mean), 0.1 * mean.value);
  EXPECT_LE(*mean.low, 400);
  EXPECT_GE(*mean.high, 400);
  EXPECT_GT(half_width(record.estimates.at("energy_long_run_j_per_item")), 3 * half_width(record.estimates.at("energy_j_per_item")));
}

TEST(Energy, throughput_that_goes_with_the_power_leaves_the_energy_of_an_item_alone) {
  Record record = up_and_down(true);
  compute_metrics(record);
  const Estimate& watts = record.estimates.at("power_long_run_w");
  const Estimate& joules = record.estimates.at("energy_long_run_j_per_item");
  EXPECT_LT(half_width(joules) / joules.value, 0.5 * half_width(watts) / watts.value);
}

TEST(Energy, a_window_too_short_for_slices_has_no_interval_of_the_long_run) {
  Record record = on_gpu(2 * second, 3 * second);
  record.series = {counter_of(flat, 5 * second)};
  for (int i = 0; i < 100; ++i)
    record.timings.push_back(
        {static_cast<uint64_t>(i), 2 * second + i * 10 * ms, 2 * second + i * 10 * ms, 2 * second + (i + 1) * 10 * ms, 1, Status::ok});
  compute_metrics(record);
  EXPECT_TRUE(record.estimates.at("power_w").low);
  EXPECT_FALSE(record.estimates.at("power_long_run_w").low);
  EXPECT_FALSE(record.estimates.at("energy_long_run_j_per_item").low);
  EXPECT_DOUBLE_EQ(record.estimates.at("power_long_run_w").value, record.estimates.at("power_w").value);
}

TEST(Energy, two_readings_of_power_are_no_estimate) {
  Record record = on_gpu(second, 2 * second);
  record.series = {{"nvml", "power.cuda0", "W", false, {0, second + 1, 2 * second - 1, 3 * second}, {80, 700, 700, 80}}};
  EXPECT_FALSE(sampled_energy(record, record.windows[0]));
}

TEST(Energy, without_a_source_there_is_no_value) {
  Record record = on_gpu(second, 9 * second);
  record.series = {{"proc", "cpu_time", "s", true, {0, 10 * second}, {0, 5}}};
  EXPECT_FALSE(counted_energy(record, record.windows[0]));
  EXPECT_FALSE(sampled_energy(record, record.windows[0]));
  record.series = {counter_of(flat, 5 * second)};  // the device was lost half-way
  EXPECT_FALSE(counted_energy(record, record.windows[0]));
}

}  // namespace
}  // namespace deepgap
