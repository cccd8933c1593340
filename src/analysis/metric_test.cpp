#include "analysis/metric.h"

#include "analysis/steady.h"
#include "analysis/words.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <utility>

namespace deepgap {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// 100 queries of 4 items back to back: 1 ms to 100 ms each in turn, all in the window, which is 1 ms longer than they are.
Record hundred_queries() {
  Record record;
  record.point.batch = 4;
  record.point.threads = 2;
  record.verdict = Verdict::valid;
  record.flop_per_item = 2'000'000'000;
  Nanoseconds now = 1'000'000;
  record.windows = {{"warm_up", 0, 1'000'000}, {"steady", 1'000'000, 5'052'000'000}};
  for (uint64_t i = 1; i <= 100; ++i) {
    const Nanoseconds end = now + static_cast<Nanoseconds>(i) * 1'000'000;
    record.timings.push_back({i, now, now + 1000, end, 4, Status::ok});
    now = end;
  }
  return record;
}

double value_of(const Record& record, const std::string& id) {
  const Metric* metric = find_metric(id);
  if (metric == nullptr) throw std::runtime_error("no metric " + id);
  return metric->compute(record).value().value;
}

bool absent(const Record& record, const std::string& id) { return !find_metric(id)->compute(record).has_value(); }

TEST(Metrics, every_family_is_registered_and_described) {
  std::vector<std::string> ids;
  for (const Metric& metric : all_metrics()) {
    EXPECT_TRUE(ids.empty() || ids.back() < metric.id) << metric.id << " is there twice";
    ids.push_back(metric.id);
    EXPECT_FALSE(metric.describe.empty()) << metric.id;
    EXPECT_FALSE(metric.unit.empty()) << metric.id;
  }
  for (const char* id :
       {"throughput", "throughput_median", "latency_mean_ms", "latency_p999_ms", "timings", "load_s", "compile_s", "first_result_ms",
        "device_memory_mib", "host_memory_mib", "power_w", "energy_j_per_item", "items_per_s_per_w", "cpu_utilization", "gflop_per_s",
        "context_switches_per_s", "energy_above_idle_j_per_item", "gpu_utilization", "throttled_power_share"}) {
    EXPECT_THAT(ids, Contains(id));
  }
  EXPECT_EQ(find_metric("no_such_metric"), nullptr);
}

TEST(Metrics, each_knows_how_it_combines_where_it_is_shown_and_its_unit) {
  EXPECT_EQ(find_metric("throughput")->over_ranks, Combine::sum);
  EXPECT_EQ(find_metric("latency_p50_ms")->over_ranks, Combine::mean);
  EXPECT_EQ(find_metric("timings")->over_repeats, Combine::sum);
  EXPECT_EQ(find_metric("latency_min_ms")->over_repeats, Combine::least);
  EXPECT_EQ(find_metric("gpu_temperature_c")->over_repeats, Combine::most);
  std::map<int, std::string> columns;
  for (const Metric& metric : all_metrics()) {
    if (metric.column.order == 0) continue;
    EXPECT_TRUE(columns.emplace(metric.column.order, metric.id).second) << metric.id << " has another's place";
  }
  std::vector<std::string> ids;
  for (const auto& [order, id] : columns) ids.push_back(id);
  EXPECT_THAT(ids,
              ElementsAre("throughput", "latency_p50_ms", "latency_p99_ms", "ttft_p50_ms", "ttft_p99_ms", "tpot_ms", "output_tokens_per_s",
                          "goodput", "host_memory_mib", "device_memory_mib", "items_per_s_per_w", "accuracy_top1", "accuracy_loss",
                          "cost_per_1000_items", "cost_per_million_output_tokens", "cost_per_million_input_tokens", "throughput_ratio",
                          "throughput_per_device_ratio", "items_per_s_per_w_ratio", "items_per_cost_ratio", "scaling_efficiency"));
  EXPECT_EQ(unit_text(*find_metric("cost_per_1000_items"), "EUR"), "EUR");
  EXPECT_EQ(unit_of_value(*find_metric("cost_per_1000_items"), "EUR"), "EUR for 1000 items");
  EXPECT_EQ(unit_of_value(*find_metric("energy_j_per_item"), "EUR"), "J an item");
  const ReadableValue small =
      readable_value(*find_metric("energy_j_per_item"), {.value = 0.006975, .low = 0.006924, .high = 0.007027}, "EUR");
  EXPECT_EQ(format_estimate(small.estimate) + " " + small.unit, "6.975 mJ an item");
  EXPECT_EQ(format_interval(small.estimate), "6.924 to 7.027");
  EXPECT_EQ(readable_value(*find_metric("energy_j_per_item"), {.value = 0.25}, "EUR").unit, "J an item");
  EXPECT_EQ(unit_text(*find_metric("timings"), "EUR"), "");
}

TEST(Metrics, averaging_gradients_is_hidden_as_far_as_a_step_does_not_wait_for_it) {
  Record record = hundred_queries();
  EXPECT_TRUE(absent(record, "allreduce_hidden_share")) << "one process";
  record.facts["compile.allreduce_alone_s"] = 0.004;
  EXPECT_DOUBLE_EQ(value_of(record, "allreduce_alone_ms"), 4);
  EXPECT_TRUE(absent(record, "allreduce_hidden_share")) << "nobody waited";
  record.estimates["allreduce_ms"] = {1, 0.8, 1.2, 100};
  const auto share = find_metric("allreduce_hidden_share")->compute(record);
  EXPECT_DOUBLE_EQ(share->value, 0.75);
  EXPECT_DOUBLE_EQ(*share->low, 0.7);
  EXPECT_DOUBLE_EQ(*share->high, 0.8);
  record.estimates["allreduce_ms"] = {9, {}, {}, 100};  // the other one was late
  EXPECT_EQ(value_of(record, "allreduce_hidden_share"), 0);
}

TEST(Metrics, stages_are_shares_of_a_querys_time_and_threads_of_the_window) {
  Record record = hundred_queries();
  EXPECT_TRUE(absent(record, "stage_decode_share")) << "not end to end";
  for (const char* stage : {"wait_decode", "read", "decode", "preprocess", "wait_infer", "copy_in", "compute", "copy_out"})
    record.estimates["stage_" + std::string(stage) + "_ms"] = {1, {}, {}, 100};
  record.estimates["stage_decode_ms"].value = 13;
  EXPECT_DOUBLE_EQ(value_of(record, "stage_decode_ms"), 13);
  EXPECT_DOUBLE_EQ(value_of(record, "stage_decode_share"), 0.65);
  EXPECT_DOUBLE_EQ(value_of(record, "stage_compute_share"), 0.05);
  EXPECT_TRUE(absent(record, "decode_busy_share")) << "the threads are not known";
  record.estimates["prepare_ms_per_item"] = {10, {}, {}, 100};
  record.facts["end_to_end.decode_threads"] = int64_t{2};
  EXPECT_NEAR(value_of(record, "decode_busy_share"), 0.01 * value_of(record, "throughput") / 2, 1e-9);
}

TEST(Metrics, int8_share_is_what_the_engine_tells) {
  Record record = hundred_queries();
  EXPECT_TRUE(absent(record, "int8_mac_share")) << "it tells nothing";
  record.facts["macs.fp32"] = 1.0;
  EXPECT_EQ(value_of(record, "int8_mac_share"), 0);
  record.facts["macs.int8"] = 0.75;
  EXPECT_EQ(value_of(record, "int8_mac_share"), 0.75);
  EXPECT_EQ(value_of(record, "int4_mac_share"), 0);
  record.facts["macs.int4"] = 0.25;
  EXPECT_EQ(value_of(record, "int4_mac_share"), 0.25);
}

TEST(Metrics, throughput_is_items_over_the_window) {
  const Record record = hundred_queries();  // 400 items in 5.051 s
  EXPECT_NEAR(value_of(record, "throughput"), 400 / 5.051, 1e-9);
  EXPECT_NEAR(value_of(record, "gflop_per_s"), 800 / 5.051, 1e-9);
  EXPECT_NEAR(value_of(record, "throughput_median"), 4 / 0.050, 1e-9);  // the 50th of 1..100 ms
  EXPECT_EQ(value_of(record, "timings"), 100);
  EXPECT_NEAR(value_of(record, "steady_s"), 5.051, 1e-12);
}

TEST(Metrics, throughput_carries_the_workers_interval_relative_to_its_value) {
  Record record = hundred_queries();
  record.estimates["throughput"] = {80, 76, 84, 100};
  const auto estimate = find_metric("throughput")->compute(record).value();
  EXPECT_NEAR(estimate.value, 400 / 5.051, 1e-9);
  EXPECT_NEAR(*estimate.low, 0.95 * 400 / 5.051, 1e-9);
  EXPECT_NEAR(*estimate.high, 1.05 * 400 / 5.051, 1e-9);
}

TEST(Metrics, without_a_workers_interval_the_completions_give_one) {
  Record record;
  Nanoseconds now = 0;
  for (uint64_t i = 0; i < 90; ++i) {  // 10, 11, 12, 10, ... ms: 90 items in 990 ms
    const Nanoseconds end = now + static_cast<Nanoseconds>(10 + i % 3) * 1'000'000;
    record.timings.push_back({i, now, now, end, 1, Status::ok});
    now = end;
  }
  record.windows = {{"steady", 0, now}};
  const auto estimate = find_metric("throughput")->compute(record).value();
  EXPECT_NEAR(estimate.value, 90 / 0.99, 1e-9);
  ASSERT_TRUE(estimate.low && estimate.high);
  EXPECT_LT(*estimate.low, estimate.value);
  EXPECT_GT(*estimate.low, 0.95 * estimate.value);
  EXPECT_GT(*estimate.high, estimate.value);
}

TEST(Metrics, failed_queries_are_counted_and_are_no_throughput) {
  Record record = hundred_queries();
  record.timings[0].status = Status::failed;
  EXPECT_EQ(value_of(record, "failed_queries"), 1);
  EXPECT_NEAR(value_of(record, "throughput"), 396 / 5.051, 1e-9);
  EXPECT_EQ(value_of(record, "latency_min_ms"), 2);
}

TEST(Metrics, timings_beyond_the_cap_leave_throughput_to_the_worker) {
  Record record = hundred_queries();
  record.timings_dropped = 900;
  EXPECT_TRUE(absent(record, "throughput"));
  record.estimates["throughput"] = {77, 76, 78, 1000};
  EXPECT_EQ(value_of(record, "throughput"), 77);
  EXPECT_EQ(value_of(record, "timings"), 1000);
}

TEST(Metrics, latency_percentiles_are_nearest_rank) {
  const Record record = hundred_queries();
  EXPECT_EQ(value_of(record, "latency_p50_ms"), 50);
  EXPECT_EQ(value_of(record, "latency_p90_ms"), 90);
  EXPECT_EQ(value_of(record, "latency_p95_ms"), 95);
  EXPECT_EQ(value_of(record, "latency_p99_ms"), 99);
  EXPECT_EQ(value_of(record, "latency_p999_ms"), 100);
  EXPECT_EQ(value_of(record, "latency_min_ms"), 1);
  EXPECT_EQ(value_of(record, "latency_max_ms"), 100);
  EXPECT_DOUBLE_EQ(value_of(record, "latency_mean_ms"), 50.5);
  EXPECT_NEAR(value_of(record, "latency_std_ms"), 29.011492, 1e-6);  // sqrt(100 * 101 / 12)
}

// Arrivals every ms, but the first query takes 10 ms and each other 0.1 ms: query i waits for the first and counts that.
TEST(Metrics, open_loop_latency_counts_from_the_scheduled_time) {
  Record record;
  for (int i = 0; i < 5; ++i) {
    const Nanoseconds end = 10'000'000 + i * 100'000;
    record.timings.push_back({static_cast<uint64_t>(i), i * 1'000'000, end - 100'000, end, 1, Status::ok});
  }
  EXPECT_DOUBLE_EQ(value_of(record, "latency_max_ms"), 10.0);
  EXPECT_DOUBLE_EQ(value_of(record, "latency_min_ms"), 6.4);
}

TEST(Metrics, memory_and_start_up_times) {
  Record record;
  record.device_memory = {4 << 20, 1 << 20, 3 << 20};
  record.host_memory_peak_bytes = 512 << 20;
  record.load_s = 0.25;
  record.first_result_ms = 31.5;
  EXPECT_EQ(value_of(record, "device_memory_mib"), 3);
  EXPECT_EQ(value_of(record, "device_memory_reserved_mib"), 4);
  EXPECT_EQ(value_of(record, "host_memory_mib"), 512);
  EXPECT_EQ(value_of(record, "load_s"), 0.25);
  EXPECT_EQ(value_of(record, "first_result_ms"), 31.5);
  EXPECT_TRUE(absent(record, "compile_s"));
  EXPECT_TRUE(absent(record, "compile_tune_s"));
  record.facts["compile.tune_s"] = 1.5;  // an engine reports it after it has loaded
  EXPECT_EQ(value_of(record, "compile_tune_s"), 1.5);
  EXPECT_TRUE(absent(record, "compile_graph_s"));
  record.device_memory.peak_bytes = -1;
  EXPECT_EQ(value_of(record, "device_memory_mib"), 1);
  record.device_memory = {};
  EXPECT_TRUE(absent(record, "device_memory_mib"));
}

TEST(Metrics, cpu_use_is_the_counters_growth_in_the_window) {
  Record record = hundred_queries();
  record.windows = {{"steady", 1'000'000'000, 3'000'000'000}};
  // 1 s of CPU time a second before the window, 1.5 inside it.
  record.series = {{"proc", "cpu_time", "s", true, {0, 1'000'000'000, 2'000'000'000, 4'000'000'000}, {0, 1, 2.5, 5.5}}};
  EXPECT_DOUBLE_EQ(value_of(record, "cpus_used"), 1.5);
  EXPECT_DOUBLE_EQ(value_of(record, "cpu_utilization"), 0.75);
  EXPECT_TRUE(absent(record, "cpus_used_by_others"));
  record.series.push_back({"proc", "machine_busy", "s", true, {1'000'000'000, 3'000'000'000}, {100, 104}});
  record.series.push_back({"proc", "machine_steal", "s", true, {1'000'000'000, 3'000'000'000}, {7, 7.5}});
  EXPECT_DOUBLE_EQ(value_of(record, "cpus_used_by_others"), 0.5);
  EXPECT_DOUBLE_EQ(value_of(record, "cpus_stolen"), 0.25);
  record.point.threads = 0;
  EXPECT_TRUE(absent(record, "cpu_utilization"));
}

TEST(Metrics, energy_by_counter_else_by_power_else_absent) {
  Record record = hundred_queries();
  record.windows = {{"steady", 0, 2'000'000'000}};  // 400 items in 2 s
  EXPECT_TRUE(absent(record, "power_w"));
  EXPECT_TRUE(absent(record, "energy_j_per_item"));
  // A line from 10 W to 30 W: 20 W on average, 40 J.
  record.series = {{"nvml", "power", "W", false, {0, 1'000'000'000, 2'000'000'000}, {10, 20, 30}}};
  EXPECT_DOUBLE_EQ(value_of(record, "power_w"), 20);
  EXPECT_DOUBLE_EQ(value_of(record, "energy_j_per_item"), 0.1);
  EXPECT_DOUBLE_EQ(value_of(record, "items_per_s_per_w"), 10);
  // Two packages, 100 J and 50 J: the counters win.
  record.series.push_back({"rapl", "energy.package-0", "J", true, {0, 2'000'000'000}, {1000, 1100}});
  record.series.push_back({"rapl", "energy.package-1", "J", true, {0, 2'000'000'000}, {7, 57}});
  EXPECT_DOUBLE_EQ(value_of(record, "power_w"), 75);
}

TEST(Metrics, a_right_answer_costs_what_the_wrong_ones_cost_too) {
  Record record = hundred_queries();
  record.windows = {{"steady", 0, 2'000'000'000}};
  record.series = {{"nvml", "power", "W", false, {0, 1'000'000'000, 2'000'000'000}, {10, 20, 30}}};
  EXPECT_TRUE(absent(record, "energy_j_per_correct")) << "no labels";
  record.estimates["accuracy_top1"] = {0.8, 0.75, 0.85, 100};
  const double energy = value_of(record, "energy_j_per_item");
  EXPECT_DOUBLE_EQ(value_of(record, "energy_j_per_correct"), energy / 0.8);
  const auto item = find_metric("energy_j_per_item")->compute(record), answer = find_metric("energy_j_per_correct")->compute(record);
  ASSERT_EQ(answer->low.has_value(), item->low.has_value());
  if (item->low) EXPECT_DOUBLE_EQ(*answer->low, *item->low / 0.85);
  record.estimates["accuracy_top1"].value = 0;
  EXPECT_TRUE(absent(record, "energy_j_per_correct")) << "none is right";
  record.estimates["accuracy_top1"].value = 1;
  record.series.clear();
  EXPECT_TRUE(absent(record, "energy_j_per_correct")) << "no energy";
}

TEST(Metrics, a_counter_that_wraps_or_ends_early_gives_no_value) {
  Record record = hundred_queries();
  record.windows = {{"steady", 0, 2'000'000'000}};
  record.series = {{"proc", "cpu_time", "s", true, {0, 1'000'000'000, 2'000'000'000}, {5, 6, 1}}};
  EXPECT_TRUE(absent(record, "cpus_used"));
  record.series = {{"proc", "cpu_time", "s", true, {0, 1'000'000'000}, {5, 6}}};
  EXPECT_TRUE(absent(record, "cpus_used"));
}

TEST(Metrics, a_gpus_state_over_the_window) {
  Record record = hundred_queries();
  record.point.placement.devices = {{"", "cuda", 1}};
  record.windows = {{"steady", 1'000'000'000, 5'000'000'000}};
  const std::vector<Nanoseconds> times{0, 2'000'000'000, 3'000'000'000, 6'000'000'000};
  record.series = {{"nvml", "throttle_reasons.cuda1", "bits", false, times, {0, 4, 0x20, 0}},  // power 2 to 3 s, heat 3 to 5 s
                   {"nvml", "utilization.cuda1", "1", false, times, {0.1, 0.8, 0.7, 0.1}},
                   {"nvml", "temperature.cuda1", "degC", false, times, {90, 60, 65, 80}},
                   {"nvml", "processes.cuda1", "1", false, times, {1, 1, 3, 1}}};
  EXPECT_DOUBLE_EQ(value_of(record, "throttled_share"), 0.75);
  EXPECT_DOUBLE_EQ(value_of(record, "throttled_power_share"), 0.25);
  EXPECT_DOUBLE_EQ(value_of(record, "throttled_thermal_share"), 0.5);
  EXPECT_DOUBLE_EQ(value_of(record, "gpu_utilization"), 0.75) << "samples that look back to before the window do not count";
  EXPECT_EQ(value_of(record, "gpu_temperature_c"), 65) << "only what was read inside the window";
  EXPECT_EQ(value_of(record, "gpu_other_processes"), 2);
  EXPECT_TRUE(absent(record, "gpu_clock_mhz"));
  record.series[3].values = {0, 0, 0, 0};
  EXPECT_TRUE(absent(record, "gpu_other_processes")) << "the driver hides us, so it may hide others";
  record.point.placement.devices = {{"", "cpu", 0}};
  EXPECT_TRUE(absent(record, "gpu_utilization"));
}

TEST(Metrics, marks_tell_what_of_the_window_was_the_devices) {
  Record record = hundred_queries();  // 400 items, batch 4, in 5.051 s
  record.point.placement.devices = {{"", "cuda", 0}};
  EXPECT_TRUE(absent(record, "compute_ms"));
  EXPECT_TRUE(absent(record, "device_idle_share"));
  record.estimates = {{"copy_in_ms", {1, {}, {}, 100}}, {"compute_ms", {30, {}, {}, 100}}, {"copy_out_ms", {2, {}, {}, 100}}};
  EXPECT_NEAR(value_of(record, "marked_share"), 3.3 / 5.051, 1e-9);
  EXPECT_NEAR(value_of(record, "device_idle_share"), 1 - 3.3 / 5.051, 1e-9);
  EXPECT_EQ(value_of(record, "host_bound"), 1);
  record.series = {{"nvml", "utilization.cuda0", "1", false, {0, 5'000'000'000}, {0.1, 0.5}}};
  EXPECT_DOUBLE_EQ(value_of(record, "device_idle_share"), 0.5);
  record.estimates["compute_ms"].value = 47;
  record.series[0].values = {0.1, 0.97};
  EXPECT_EQ(value_of(record, "host_bound"), 0) << "marks agree with the wall time, and the driver's samples are not that exact";
  record.series[0].values = {0.1, 0.5};
  EXPECT_EQ(value_of(record, "host_bound"), 1) << "gaps between kernels";
  Record two = record;
  two.point.placement.devices.push_back({"", "cuda", 1});
  EXPECT_DOUBLE_EQ(value_of(two, "marked_share"), value_of(record, "marked_share") / 2);
  record.estimates["compute_ms"].value = 90;  // several in flight
  EXPECT_GT(value_of(record, "marked_share"), 1.5);
  EXPECT_DOUBLE_EQ(value_of(record, "device_idle_share"), 0.5);
}

TEST(Metrics, recomputing_drops_what_cannot_be_computed_any_more) {
  Record record = hundred_queries();
  record.estimates["gpu_utilization"] = {0.5, {}, {}, 1};
  record.estimates["of_the_worker"] = {1, {}, {}, 1};
  recompute_metrics(record);
  EXPECT_FALSE(record.estimates.contains("gpu_utilization"));
  EXPECT_TRUE(record.estimates.contains("of_the_worker"));
  EXPECT_TRUE(record.estimates.contains("latency_p50_ms"));
}

TEST(Metrics, computing_keeps_what_the_worker_knew_and_adds_the_rest) {
  Record record = hundred_queries();
  record.estimates["something_else"] = {7, {}, {}, 1};
  compute_metrics(record);
  EXPECT_EQ(record.estimates.at("something_else").value, 7);
  EXPECT_EQ(record.estimates.at("latency_p99_ms").value, 99);
  EXPECT_EQ(record.estimates.count("power_w"), 0u);
  EXPECT_EQ(record.estimates.count("load_s"), 0u);
}

TEST(Metrics, a_record_that_failed_has_no_speed) {
  Record record = hundred_queries();
  record.outcome = Outcome::incorrect;
  record.load_s = 1;
  compute_metrics(record);
  EXPECT_EQ(record.estimates.count("throughput"), 0u);
  EXPECT_EQ(record.estimates.count("latency_p50_ms"), 0u);
  EXPECT_EQ(record.estimates.at("load_s").value, 1);
}

TEST(Metrics, an_empty_record_is_harmless) {
  Record record;
  compute_metrics(record);
  EXPECT_EQ(record.estimates.count("throughput"), 0u);
}

// Clocks that step or stand still, one timing, all the same, readings that are no number.
TEST(Metrics, what_no_good_clock_gives_is_left_out_or_a_number) {
  const auto changed = [](auto change) {
    Record record = hundred_queries();
    for (Timing& timing : record.timings) change(timing);
    return record;
  };
  Record one = hundred_queries(), readings = hundred_queries(), turned = hundred_queries();
  one.timings.resize(1);
  std::swap(turned.windows[1].begin, turned.windows[1].end);
  for (const char* name : {"cpu_time", "energy.package-0"})
    readings.series.push_back(
        {"proc", name, name[0] == 'c' ? "s" : "J", true, {0, 1'000'000, 5'052'000'000, 5'060'000'000}, {1, NAN, INFINITY, 4}});
  for (Record record :
       {one, readings, turned, changed([](Timing& t) { t.scheduled = t.begin = t.end = 2'000'000; }),
        changed([](Timing& t) { t.end = t.begin - 1'000'000; }), changed([](Timing& t) { t.end -= t.query > 50 ? 3'600'000'000'000 : 0; }),
        changed([](Timing& t) { t.scheduled = t.begin = t.end - 5'000'000; })}) {
    compute_metrics(record);
    for (const auto& [id, estimate] : record.estimates) {
      EXPECT_TRUE(std::isfinite(estimate.value)) << id;
      EXPECT_FALSE(estimate.low && !std::isfinite(*estimate.low)) << id;
      EXPECT_FALSE(estimate.high && !std::isfinite(*estimate.high)) << id;
      EXPECT_FALSE(estimate.low && estimate.high && *estimate.low > *estimate.high) << id;
    }
  }
}

}  // namespace
}  // namespace deepgap
