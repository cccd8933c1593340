#include "analysis/finding.h"

#include "base/registry.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

struct Made {
  std::string model = "resnet50", backend = "native";
  int64_t batch = 1;
  std::vector<double> throughputs;  // one a repeat
  Precision precision = Precision::fp32;
  int threads = 2;
  std::string device = "cpu";
  std::map<std::string, double> metrics;  // besides
  int devices = 1;                        // of that kind
  std::map<std::string, std::string> options;
  std::string device_name;  // as the environment tells it; empty: it does not
  std::string cpu_model;
};

void add(ResultsCollector& collector, const Made& made) {
  for (size_t i = 0; i < made.throughputs.size(); ++i) {
    Record record;
    record.point.model = made.model;
    record.point.backend = made.backend;
    record.point.batch = made.batch;
    record.point.precision = made.precision;
    record.point.threads = made.threads;
    record.point.placement.devices.clear();
    for (int index = 0; index < made.devices; ++index) record.point.placement.devices.push_back({"", made.device, index});
    record.point.options = made.options;
    if (!made.device_name.empty()) record.environment["gpu.cuda0.name"] = made.device_name;
    if (!made.cpu_model.empty()) record.environment["cpu.model"] = made.cpu_model;
    for (const auto& [id, value] : made.metrics) record.estimates[id] = {value, {}, {}, 1};
    record.repeat = static_cast<int>(i);
    record.verdict = Verdict::valid;
    const double x = made.throughputs[i];
    record.estimates["throughput"] = {x, x * 0.999, x * 1.001, 100};
    const double latency = 1e3 * static_cast<double>(made.batch) / x;
    record.estimates["latency_p50_ms"] = {latency, {}, {}, 100};
    record.estimates["latency_p99_ms"] = {latency * 1.5, {}, {}, 100};
    collector.add(record);
  }
}

Record failed(Outcome outcome, const std::string& reason, const std::string& backend = "onnxruntime") {
  Record record;
  record.point.model = "resnet50";
  record.point.backend = backend;
  record.outcome = outcome;
  record.reason = reason;
  return record;
}

std::vector<Statement> find(const std::string& id, const ResultsCollector& collector) {
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  return Registry<Finding>::instance().make("finding", id)->find({results, workloads});
}

TEST(Findings, the_best_engine_is_named_with_the_ratio_and_its_interval) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {120, 121, 122}});
  add(collector, {.batch = 1, .throughputs = {60, 60, 61}});
  add(collector, {.backend = "onnxruntime", .batch = 4, .throughputs = {100, 101, 99}});
  const auto said = find("best_engine", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("121"));
  EXPECT_THAT(said[0].headline, HasSubstr("native at batch 8"));
  EXPECT_THAT(said[0].detail, HasSubstr("1.21 times (1."));
  EXPECT_THAT(said[0].detail, HasSubstr("onnxruntime at batch 4"));
  EXPECT_THAT(said[0].points, SizeIs(2));
}

TEST(Findings, engines_whose_ratio_may_be_one_are_not_separable) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 110, 120}});
  add(collector, {.backend = "onnxruntime", .throughputs = {99, 111, 118}});
  EXPECT_THAT(find("best_engine", collector).at(0).detail, HasSubstr("not separable from onnxruntime"));
}

// What a block does to both falls out: each repeat's ratio is nearly the same.
TEST(Findings, repeats_of_one_block_are_paired) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 130, 160}});
  add(collector, {.backend = "onnxruntime", .throughputs = {91, 118.2, 145.4}});
  EXPECT_THAT(find("best_engine", collector).at(0).detail, HasSubstr("1.10 times (1.10 to 1.10) that of onnxruntime"));
}

TEST(Findings, what_was_measured_once_is_not_compared) {
  ResultsCollector collector;
  add(collector, {.throughputs = {200}});
  add(collector, {.backend = "onnxruntime", .throughputs = {100}});
  EXPECT_THAT(find("best_engine", collector).at(0).detail,
              HasSubstr("2.00 times that of onnxruntime at batch 1 (measured once: not comparable)"));
}

TEST(Findings, the_smallest_batch_near_the_peak) {
  ResultsCollector collector;
  for (const auto& [batch, throughput] : std::map<int64_t, double>{{1, 50}, {2, 80}, {4, 96}, {8, 100}, {16, 97}}) {
    add(collector, {.batch = batch, .throughputs = {throughput, throughput * 1.001}});
  }
  const auto said = find("batch_peak", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("batch 4 is enough to be within 5 % of the peak"));
  EXPECT_THAT(said[0].detail, HasSubstr("native peaks at batch 8, 2.00 times"));
}

TEST(Findings, the_smallest_batch_near_the_peak_is_told_of_every_line) {
  ResultsCollector collector;
  for (const auto& [batch, throughput] : std::map<int64_t, double>{{1, 50}, {2, 80}, {4, 96}, {8, 100}, {16, 97}}) {
    add(collector, {.batch = batch, .throughputs = {throughput}});
    add(collector, {.backend = "openvino", .batch = batch, .throughputs = {40.0 * static_cast<double>(batch)}});
    add(collector, {.backend = "onnxruntime", .batch = batch, .throughputs = {30.0 / static_cast<double>(batch)}});
  }
  const auto said = find("batch_peak", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("batch 1 to 16, by line, is enough"));
  EXPECT_EQ(said[0].detail,
            "openvino: batch 16, with the peak at 16; it is the largest measured, so the peak may lie beyond. "
            "native: batch 4, with the peak at 8. onnxruntime: batch 1 is the fastest.");
}

TEST(Findings, more_lines_than_there_is_room_for_are_counted) {
  ResultsCollector collector;
  for (int engine = 10; engine < 70; ++engine) {
    for (const int64_t batch : {1, 2, 4})
      add(collector, {.backend = "engine" + std::to_string(engine), .batch = batch, .throughputs = {50}});
  }
  const std::string detail = find("batch_peak", collector).at(0).detail;
  EXPECT_LT(detail.size(), 1300u);
  EXPECT_THAT(detail, ::testing::MatchesRegex(".* is the fastest[.] [0-9]+ slower lines are not told here[.]"));
}

TEST(Findings, a_peak_at_the_largest_batch_may_lie_beyond) {
  ResultsCollector collector;
  for (const int64_t batch : {1, 2, 4}) add(collector, {.batch = batch, .throughputs = {50.0 * static_cast<double>(batch)}});
  const auto said = find("batch_peak", collector);
  EXPECT_THAT(said.at(0).headline, HasSubstr("batch 4 is enough"));
  EXPECT_THAT(said.at(0).detail, HasSubstr("may lie beyond"));
}

TEST(Findings, batching_that_does_not_help_is_said) {
  ResultsCollector collector;
  for (const int64_t batch : {1, 2, 4}) add(collector, {.batch = batch, .throughputs = {100.0 - 10 * static_cast<double>(batch)}});
  EXPECT_THAT(find("batch_peak", collector).at(0).detail, HasSubstr("batching does not help"));
}

TEST(Findings, two_batches_show_no_peak) {
  ResultsCollector collector;
  for (const int64_t batch : {1, 2}) add(collector, {.batch = batch, .throughputs = {100}});
  EXPECT_TRUE(find("batch_peak", collector).empty());
}

TEST(Findings, lowest_latency_has_its_99th_percentile) {
  ResultsCollector collector;
  add(collector, {.batch = 1, .throughputs = {100}});
  add(collector, {.batch = 8, .throughputs = {200}});
  const auto said = find("lowest_latency", collector);
  EXPECT_THAT(said.at(0).headline, HasSubstr("10.0 ms median latency with native at batch 1"));
  EXPECT_THAT(said.at(0).detail, HasSubstr("15.0 ms"));
}

TEST(Findings, precision_against_fp32) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 100.2}});
  add(collector, {.throughputs = {250, 250.2}, .precision = Precision::bf16});
  const auto said = find("precision", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("bf16 is 2.5"));
}

TEST(Findings, int8_that_is_not_computed_so_is_said) {
  for (const double share : {0.99, 0.3}) {
    ResultsCollector collector;
    add(collector, {.throughputs = {100, 100.2}});
    add(collector, {.throughputs = {250, 250.2}, .precision = Precision::int8, .metrics = {{"int8_mac_share", share}}});
    const auto said = find("precision", collector);
    ASSERT_THAT(said, SizeIs(1));
    const bool told = said[0].detail.find("The engine computes 30 % of the multiply-accumulates in INT8") != std::string::npos;
    EXPECT_EQ(told, share < 0.95) << said[0].detail;
  }
}

TEST(Findings, threads_scale_with_an_efficiency) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 100.1, 100.2}, .threads = 1});
  add(collector, {.throughputs = {160, 160.1, 160.2}, .threads = 2});
  add(collector, {.throughputs = {120, 120.1, 120.2}, .threads = 4});
  const auto said = find("threads", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("fastest with 2 threads"));
  EXPECT_THAT(said[0].detail, HasSubstr("1.60 times"));
  EXPECT_THAT(said[0].detail, HasSubstr("80 %"));
  EXPECT_THAT(said[0].detail, HasSubstr("More threads are slower"));
}

TEST(Findings, a_gpu_against_the_cpu_each_at_its_best) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 100.1}});
  add(collector, {.throughputs = {150, 150.1}, .precision = Precision::bf16});
  EXPECT_TRUE(find("cpu_baseline", collector).empty()) << "no GPU";
  add(collector, {.backend = "libtorch", .batch = 64, .throughputs = {2000, 2002}, .device = "cuda"});
  add(collector, {.backend = "libtorch", .batch = 256, .throughputs = {6000, 6004}, .precision = Precision::fp16, .device = "cuda"});
  const auto said = find("cpu_baseline", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("the GPU gives 40.0"));
  EXPECT_THAT(said[0].detail, HasSubstr("at batch 256 against native"));
  EXPECT_THAT(said[0].detail, HasSubstr("In fp32 alone it is 20.0"));
}

TEST(Findings, a_gpu_that_waits_for_its_host) {
  ResultsCollector collector;
  add(collector, {.batch = 1, .throughputs = {100}, .device = "cuda", .metrics = {{"device_idle_share", 0.43}, {"host_bound", 1}}});
  add(collector, {.batch = 64, .throughputs = {900}, .device = "cuda", .metrics = {{"device_idle_share", 0.02}, {"host_bound", 0}}});
  const auto said = find("host_bound", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].headline, "resnet50: 1 of 2 points are host-bound");
  EXPECT_THAT(said[0].detail, HasSubstr("idle for 43"));
  EXPECT_THAT(said[0].points, SizeIs(1));
}

TEST(Findings, throttling_has_its_share_of_the_time) {
  ResultsCollector collector;
  add(collector,
      {.batch = 1, .throughputs = {1}, .device = "cuda", .metrics = {{"throttled_power_share", 0}, {"throttled_thermal_share", 0}}});
  EXPECT_TRUE(find("throttling", collector).empty());
  add(collector, {.batch = 256,
                  .throughputs = {1},
                  .device = "cuda",
                  .metrics = {{"throttled_power_share", 0.87}, {"throttled_thermal_share", 0}, {"power_w", 698}, {"gpu_clock_mhz", 1545}}});
  const auto said = find("throttling", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].headline, "1 point held back by the GPU's power limit");
  EXPECT_THAT(said[0].detail, HasSubstr("87"));
  EXPECT_THAT(said[0].detail, HasSubstr("at 698 W and 1545 MHz"));
}

TEST(Findings, precision_in_memory_and_energy_at_the_same_batch) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {100}, .metrics = {{"device_memory_mib", 1000}, {"power_w", 600}}});
  add(collector, {.batch = 16, .throughputs = {110}, .metrics = {{"device_memory_mib", 2000}}});
  add(collector,
      {.batch = 8, .throughputs = {300}, .precision = Precision::fp16, .metrics = {{"device_memory_mib", 520}, {"power_w", 630}}});
  const auto said = find("precision_resources", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("fp16 takes 0.52 times the memory and 1.05 times the power of fp32"));
  EXPECT_THAT(said[0].detail, HasSubstr("batch 8"));
}

TEST(Findings, most_items_a_joule) {
  ResultsCollector collector;
  add(collector, {.batch = 1, .throughputs = {100}, .metrics = {{"items_per_s_per_w", 0.4}}});
  add(collector, {.batch = 32, .throughputs = {800}, .metrics = {{"items_per_s_per_w", 2.5}}});
  add(collector, {.batch = 64, .throughputs = {900}, .metrics = {{"items_per_s_per_w", 2.0}}});
  const auto said = find("per_watt", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("2.50 items a second and watt with native at batch 32"));
  EXPECT_THAT(said[0].detail, HasSubstr("1.25 times"));
  EXPECT_THAT(said[0].points, SizeIs(2));
}

TEST(Findings, counter_and_sampled_power_are_compared_over_long_windows) {
  const auto said = [](double sampled, double length) {
    ResultsCollector collector;
    add(collector,
        {.throughputs = {100}, .metrics = {{"energy_j_per_item", 2.0}, {"energy_sampled_j_per_item", sampled}, {"steady_s", length}}});
    return find("energy_agreement", collector);
  };
  EXPECT_TRUE(said(2.5, 10).empty()) << "too short to say";
  EXPECT_EQ(said(2.02, 40).at(0).tone, Tone::note);
  EXPECT_EQ(said(1.9, 40).at(0).tone, Tone::warning);
  EXPECT_THAT(said(1.9, 40).at(0).detail, HasSubstr("5.0 % less"));
}

TEST(Findings, a_gpu_shared_with_others_is_warned_of) {
  ResultsCollector collector;
  add(collector, {.throughputs = {1}, .device = "cuda", .metrics = {{"gpu_other_processes", 1}}});
  EXPECT_EQ(find("gpu_processes", collector).at(0).headline, "1 point measured while other processes were on the GPU");
}

TEST(Findings, failures_are_grouped_by_cause_with_counts) {
  ResultsCollector collector;
  for (int i = 0; i < 3; ++i) collector.add(failed(Outcome::crashed, "signal 9"));
  collector.add(failed(Outcome::refused, "no operator Foo", "native"));
  const auto said = find("failures", collector);
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_EQ(said[0].headline, "resnet50 on onnxruntime crashed: 3 records of 1 point");
  EXPECT_EQ(said[0].detail, "signal 9");
  EXPECT_EQ(said[0].tone, Tone::failure);
  EXPECT_EQ(said[1].headline, "resnet50 on native was refused: 1 record of 1 point");
  EXPECT_EQ(said[1].tone, Tone::note);
}

TEST(Findings, what_lessens_trust_is_said) {
  ResultsCollector collector;
  Record record = failed(Outcome::ok, "throughput +-4% at the budget");
  record.verdict = Verdict::unstable;
  record.unchecked = true;
  collector.add(record);
  const auto said = find("trust", collector);
  ASSERT_THAT(said, SizeIs(3));
  EXPECT_EQ(said[0].headline, "1 point unstable");
  EXPECT_THAT(said[0].detail, HasSubstr("+-4% at the budget"));
  EXPECT_EQ(said[1].headline, "1 point not checked");
  EXPECT_EQ(said[2].headline, "1 point measured once");
}

TEST(Findings, machines_and_versions_that_are_mixed_are_warned_of) {
  ResultsCollector collector;
  for (const char* host : {"a", "b"}) {
    Record record = failed(Outcome::ok, "");
    record.environment = {{"host.name", std::string(host)}, {"cpu.model", std::string("same")}};
    record.facts = {{"warning.swap", std::string("12 MiB in use")}};
    record.backend_version = std::string("1.") + host;
    collector.add(record);
  }
  const auto said = find("machine", collector);
  ASSERT_THAT(said, SizeIs(3));
  EXPECT_EQ(said[0].headline, "swap: noted in 2 records");
  EXPECT_EQ(said[0].detail, "12 MiB in use");
  EXPECT_EQ(said[1].headline, "1 point was measured on several nodes of a kind");
  EXPECT_THAT(said[1].detail, HasSubstr(": a and b."));
  EXPECT_EQ(said[2].headline, "onnxruntime was measured in 2 versions");
}

TEST(Findings, what_the_machine_did_meanwhile_is_said) {
  ResultsCollector collector;
  Record record = failed(Outcome::ok, "");
  record.verdict = Verdict::valid;
  record.point.threads = 2;
  record.environment = {
      {"cpu.governor", std::string("powersave")}, {"memory.swap_used_bytes", int64_t{1} << 20}, {"cpu.hypervisor", std::string("KVM")}};
  record.estimates["cpus_used_by_others"] = {0.3, {}, {}, 1};
  record.estimates["cpus_stolen"] = {0.001, {}, {}, 1};
  collector.add(record);
  const auto said = find("machine", collector);
  ASSERT_THAT(said, SizeIs(4));
  EXPECT_EQ(said[0].headline, "Frequency governor: powersave");
  EXPECT_EQ(said[1].headline, "Up to 1.0 MiB of swap were in use");
  EXPECT_EQ(said[2].headline, "Measured in a virtual machine (KVM)");
  EXPECT_EQ(said[3].headline, "1 point measured while other processes used the CPUs");
  EXPECT_THAT(said[3].detail, HasSubstr("0.30 CPUs"));
}

TEST(Findings, an_empty_store_says_nothing_and_only_failures_only_failures) {
  ResultsCollector collector;
  EXPECT_TRUE(all_findings({collector.results(), {}}).empty());
  collector.add(failed(Outcome::crashed, "signal 11"));
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  const auto said = all_findings({results, workloads});
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].id, "failures");
}

TEST(Lines, labels_name_what_differs_and_batches_are_in_order) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {1}});
  add(collector, {.batch = 1, .throughputs = {1}});
  add(collector, {.batch = 1, .throughputs = {1}, .threads = 1});
  add(collector, {.model = "resnet18", .throughputs = {1}});
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  ASSERT_THAT(workloads, SizeIs(2));
  EXPECT_EQ(workloads[0].label, "resnet18");
  EXPECT_EQ(workloads[0].lines.at(0).label, "native \u00b7 2 threads");  // the same Line has the same label in every picture
  ASSERT_THAT(workloads[1].lines, SizeIs(2));
  EXPECT_EQ(workloads[1].lines[0].label, "native \u00b7 1 thread");
  ASSERT_THAT(workloads[1].lines[1].points, SizeIs(2));
  EXPECT_EQ(workloads[1].lines[1].points[0]->point.batch, 1);
  EXPECT_EQ(workloads[1].lines[1].points[1]->point.batch, 8);
}

TEST(Lines, an_option_is_told_where_it_differs_within_a_backend) {
  ResultsCollector collector;
  add(collector, {.throughputs = {1}});
  for (const char* graph : {"off", "on"}) {
    for (const Precision precision : {Precision::fp32, Precision::fp16}) {
      add(collector, {.backend = "libtorch_cuda",
                      .throughputs = {9},
                      .precision = precision,
                      .options = {{"cuda_graph", graph}, {"channels_last", "on"}}});
    }
  }
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  ASSERT_THAT(workloads.at(0).lines, SizeIs(5));
  EXPECT_EQ(workloads[0].lines[0].label, "libtorch_cuda \u00b7 fp16 \u00b7 cuda_graph=off");
  EXPECT_EQ(label_without(workloads[0].lines[0], "fp16"), "libtorch_cuda \u00b7 cuda_graph=off");
  EXPECT_THAT(find("precision", collector).at(0).headline, HasSubstr("libtorch_cuda \u00b7 cuda_graph=off: fp16"));
}

TEST(Results, facts_are_counted_and_bounded) {
  ResultsCollector collector;
  for (int i = 0; i < 100; ++i) {
    Record record;
    record.environment = {{"cpu.model", std::string("X")}};
    record.facts = {{"steal", static_cast<double>(i)}};
    record.started_unix_ns = 1000 - i;
    collector.add(record);
  }
  const Results results = collector.results();
  EXPECT_EQ(only_value(results.environment, "cpu.model"), "X");
  EXPECT_EQ(results.environment.at("cpu.model").counts.at("X"), 100);
  EXPECT_EQ(only_value(results.facts, "steal"), "");
  EXPECT_EQ(results.facts.at("steal").others, 88);
  EXPECT_EQ(results.facts.at("steal").most, 99);
  EXPECT_EQ(results.first_started_unix_ns, 901);
  EXPECT_EQ(results.last_started_unix_ns, 1000);
}

TEST(Findings, queries_that_were_issued_late_are_a_warning) {
  ResultsCollector collector;
  add(collector, {.model = "resnet50", .throughputs = {100}, .metrics = {{"issue_lateness_p99_us", 490}}});  // p50 is 10 ms
  EXPECT_THAT(find("late_issue", collector), SizeIs(0));
  add(collector, {.model = "resnet18", .throughputs = {100}, .metrics = {{"issue_lateness_p99_us", 510}}});
  const auto statements = find("late_issue", collector);
  ASSERT_THAT(statements, SizeIs(1));
  EXPECT_EQ(statements[0].headline, "1 point was issued late");
  EXPECT_THAT(statements[0].detail, HasSubstr("at least 510 us after they were due, at a median latency of 10.0 ms"));
}

TEST(Findings, a_latency_bound_of_which_cannot_be_told_is_not_broken) {
  const auto add_point = [](ResultsCollector& collector, double rate, Verdict verdict, const std::string& reason) {
    Record record;
    record.point.model = "resnet50";
    record.point.options = {{"bound", "p99=15ms"}, {"rate", std::to_string(rate)}};
    record.verdict = verdict;
    record.reason = reason;
    record.estimates["achieved_rate"] = {rate, {}, {}, 1000};
    collector.add(record);
  };
  ResultsCollector collector;
  add_point(collector, 10, Verdict::undecided, "40 queries are too few");
  const auto alone = find("latency_bounds", collector);
  ASSERT_THAT(alone, SizeIs(1));
  EXPECT_THAT(alone[0].headline, HasSubstr("whether p99=15ms is held cannot be told"));
  EXPECT_EQ(alone[0].detail, "40 queries are too few");
  add_point(collector, 100, Verdict::valid, "");
  const auto held = find("latency_bounds", collector);
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_THAT(held[0].headline, HasSubstr("holds p99=15ms at 100 queries a second"));
  EXPECT_THAT(held[0].detail, HasSubstr("It cannot be told at 10.0: 40 queries are too few"));
  EXPECT_THAT(find("trust", collector).at(0).headline, HasSubstr("1 point undecided"));
}

TEST(Findings, a_latency_bound_is_held_or_broken_with_its_reason) {
  ResultsCollector collector;
  Record record;
  record.point.model = "resnet50";
  record.point.scenario = "server";
  record.point.options = {{"bound", "p99=15ms"}, {"rate", "100"}};
  record.verdict = Verdict::valid;
  record.estimates["latency_p99_ms"] = {12.5, {}, {}, 1000};
  record.estimates["achieved_rate"] = {99.5, {}, {}, 1000};
  collector.add(record);
  record.point.options["rate"] = "200";
  record.verdict = Verdict::invalid;
  record.reason = "p99 latency is 21 ms";
  record.estimates["achieved_rate"] = {198, {}, {}, 1000};
  collector.add(record);
  record.point.options["max_batch"] = "8";  // another line, which has no smaller rate
  collector.add(record);
  const auto statements = find("latency_bounds", collector);
  ASSERT_THAT(statements, SizeIs(2));
  EXPECT_EQ(statements[0].headline, "resnet50, native, batch 1: holds p99=15ms at 99.5 queries a second");
  EXPECT_EQ(statements[0].detail, "p99 latency 12.5 ms there. At 198 it is not held: p99 latency is 21 ms");
  EXPECT_EQ(statements[1].headline, "resnet50, native \u00b7 max_batch=8, batch 1: p99=15ms is not held");
  EXPECT_EQ(statements[1].detail, "p99 latency is 21 ms");
}

TEST(Findings, a_peak_is_told_with_its_confidence) {
  ResultsCollector collector;
  const auto add_runs = [&](const std::string& role, const std::string& rate, int held, int missed) {
    Record record;
    record.point.model = "resnet50";
    record.point.scenario = "server";
    record.point.options = {{"bound", "p99=15ms"}, {"peak", role}, {"rate", rate}};
    for (record.repeat = 0; record.repeat < held + missed; ++record.repeat) {
      record.verdict = record.repeat < held ? Verdict::valid : Verdict::invalid;
      record.estimates["achieved_rate"] = {100, {}, {}, 1000};
      collector.add(record);
    }
  };
  add_runs("search", "100", 3, 0);  // chose the load and so say nothing of it
  EXPECT_THAT(find("peak_load", collector), SizeIs(0));
  add_runs("confirm", "100", 5, 0);
  add_runs("confirm", "102", 1, 4);
  const auto statements = find("peak_load", collector);
  ASSERT_THAT(statements, SizeIs(1));
  EXPECT_THAT(statements[0].headline, testing::EndsWith("100 queries a second are the most that hold p99=15ms"));
  EXPECT_THAT(statements[0].headline, testing::Not(HasSubstr("rate=")));
  EXPECT_EQ(statements[0].detail, "5 of 5 runs there held it: with 97 % confidence at least half of all do. At 102 1 of 5 did.");
  EXPECT_THAT(find("latency_bounds", collector), SizeIs(0)) << "it is told once";
}

TEST(Findings, a_peak_does_not_contradict_itself) {
  ResultsCollector collector;
  const auto add_runs = [&](const std::string& rate, int held, int missed) {
    Record record;
    record.point.model = "resnet50";
    record.point.scenario = "server";
    record.point.options = {{"bound", "p99=15ms"}, {"peak", "confirm"}, {"rate", rate}};
    for (record.repeat = 0; record.repeat < held + missed; ++record.repeat) {
      record.verdict = record.repeat < held ? Verdict::valid : Verdict::invalid;
      collector.add(record);
    }
  };
  add_runs("107.1", 5, 0);
  add_runs("107.4", 0, 1);
  const auto near = find("peak_load", collector);
  ASSERT_THAT(near, SizeIs(1));
  EXPECT_THAT(near[0].headline, HasSubstr("107.1 queries a second are the most"));
  EXPECT_THAT(near[0].detail, HasSubstr("At 107.4 0 of 1 did."));
  add_runs("107.10", 0, 1);  // the same load
  EXPECT_THAT(find("peak_load", collector), SizeIs(0)) << "one of its runs missed";
}

TEST(Findings, one_run_that_misses_the_bound_is_not_hidden_by_the_others) {
  ResultsCollector collector;
  Record record;
  record.point.model = "resnet50";
  record.point.scenario = "server";
  record.point.options = {{"bound", "p99=15ms"}, {"rate", "100"}};
  for (record.repeat = 0; record.repeat < 5; ++record.repeat) {
    record.verdict = record.repeat < 4 ? Verdict::valid : Verdict::invalid;
    record.reason = record.repeat < 4 ? "" : "p99 latency is 15.2 ms";
    record.estimates["achieved_rate"] = {100, {}, {}, 1000};
    collector.add(record);
  }
  const auto said = find("latency_bounds", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("p99=15ms is not held"));
  EXPECT_EQ(said[0].detail, "1 of 5 repeats invalid: p99 latency is 15.2 ms");
}

TEST(Findings, several_devices_are_set_against_one) {
  ResultsCollector collector;
  Made one{.throughputs = {1000, 1002, 998}, .device = "cuda"};
  Made two = one;
  two.devices = 2;
  two.throughputs = {1900, 1904, 1896};
  Made sessions = one;
  sessions.options = {{"instances", "2"}};
  sessions.throughputs = {1100, 1102, 1098};
  for (const Made& made : {one, two, sessions}) add(collector, made);
  const auto said = find("instances", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("fastest with 2 devices in one process"));
  EXPECT_THAT(said[0].detail, HasSubstr("2 devices in one process: 1.90 times"));
  EXPECT_THAT(said[0].detail, HasSubstr("a scaling efficiency of 0.95 (0.9"));
  EXPECT_THAT(said[0].detail, HasSubstr("2 sessions on a device: 1.10 times"));
  EXPECT_THAT(said[0].points, SizeIs(3));
}

TEST(Findings, processes_that_train_together_have_an_efficiency_and_a_cost) {
  ResultsCollector collector;
  const auto add_training = [&](int devices, int64_t batch, double throughput) {
    Record record;
    record.point.task = "train";
    record.point.model = "resnet50";
    record.point.batch = batch;
    record.point.placement = {devices, {}};
    for (int i = 0; i < devices; ++i) record.point.placement.devices.push_back({"", "cuda", i});
    record.environment["gpu.cuda0.name"] = record.environment["gpu.cuda1.name"] = "NVIDIA H100";
    record.verdict = Verdict::valid;
    record.estimates["throughput"] = {throughput, throughput * 0.99, throughput * 1.01, 100};
    if (devices > 1) record.estimates["allreduce_ms"] = {0.5, {}, {}, 100};
    if (devices > 1) record.estimates["allreduce_alone_ms"] = {2, {}, {}, 1};
    if (devices > 1) record.estimates["allreduce_hidden_share"] = {0.75, {}, {}, 100};
    collector.add(record);
  };
  add_training(1, 64, 1000);
  add_training(1, 128, 1200);
  add_training(2, 64, 1800);
  const auto said = find("training_ranks", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("Training resnet50 by 2 processes of batch 64 on 2 devices: weak scaling efficiency 0.90"));
  EXPECT_THAT(said[0].headline, HasSubstr("strong scaling efficiency 0.75"));
  EXPECT_EQ(said[0].detail,
            "Averaging the gradients takes 2.00 ms alone; a step waits 0.500 ms for it after its backward pass, 75 % of it is hidden.");
}

TEST(Findings, several_devices_name_the_options_they_were_measured_with) {
  ResultsCollector collector;
  for (const char* inputs : {"host", "ready"}) {
    Made one{.throughputs = {1000, 1002, 998}, .device = "cuda"};
    one.options = {{"inputs", inputs}};
    Made two = one;
    two.devices = 2;
    for (const Made& made : {one, two}) add(collector, made);
  }
  const auto said = find("instances", collector);
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_THAT(said[0].headline, HasSubstr("inputs=host: fastest with "));
  EXPECT_THAT(said[1].headline, HasSubstr("inputs=ready: fastest with "));
}

TEST(Findings, without_one_session_there_is_nothing_to_set_several_against) {
  ResultsCollector collector;
  add(collector, {.throughputs = {1900}, .device = "cuda", .devices = 2});
  add(collector, {.throughputs = {1900}, .device = "cuda", .devices = 4});
  EXPECT_THAT(find("instances", collector), SizeIs(0));
}

// A decoder that works all the time, and a network that does not.
std::map<std::string, double> decoding_for(double threads, double network) {
  return {{"stage_decode_share", 0.61},
          {"stage_preprocess_share", 0.2},
          {"stage_compute_share", 0.18},
          {"decode_busy_share", threads},
          {"marked_share", network}};
}

TEST(Findings, end_to_end_says_what_sets_the_pace) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {99, 100, 101}});
  EXPECT_THAT(find("end_to_end", collector), SizeIs(0));
  add(collector, {.batch = 8, .throughputs = {19.9, 20, 20.1}, .metrics = decoding_for(0.5, 0.2), .options = {{"end_to_end", "serial"}}});
  add(collector,
      {.batch = 8, .throughputs = {35.9, 36, 36.1}, .metrics = decoding_for(0.98, 0.36), .options = {{"end_to_end", "overlapped"}}});
  auto said = find("end_to_end", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("end_to_end=overlapped, batch 8: 36.00 items/s end to end, 36 % of the network alone"));
  EXPECT_THAT(said[0].detail, HasSubstr("The network alone does 100"));
  EXPECT_THAT(said[0].detail, HasSubstr("spends 61 % of its time decoding, 20 % resizing and 18 % in the network"));
  EXPECT_THAT(said[0].detail, HasSubstr("Overlapped, the throughput is 1.80 times"));
  EXPECT_THAT(said[0].detail, HasSubstr("worked for 98 % of the window, the network for 36 %: decoding sets the pace"));
  EXPECT_THAT(said[0].points, SizeIs(3));
  add(collector, {.batch = 8,
                  .throughputs = {90, 91, 92},
                  .metrics = decoding_for(0.5, 0.95),
                  .options = {{"end_to_end", "overlapped"}, {"decode_threads", "4"}}});
  said = find("end_to_end", collector);
  ASSERT_THAT(said, SizeIs(1)) << "threads are compared too";
  EXPECT_THAT(said[0].detail, HasSubstr("the network sets the pace."));
}

TEST(Findings, end_to_end_says_when_the_network_is_slower_than_alone) {
  ResultsCollector collector;
  add(collector, {.throughputs = {99, 100, 101}, .metrics = {{"compute_ms", 10}}});
  auto metrics = decoding_for(0.7, 0.96);
  metrics["compute_ms"] = 13;
  add(collector, {.throughputs = {74, 75, 76}, .metrics = metrics, .options = {{"end_to_end", "overlapped"}}});
  const auto said = find("end_to_end", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].detail, HasSubstr("the network sets the pace, slower than alone: they share the CPUs."));
  EXPECT_THAT(said[0].detail, Not(HasSubstr("One stage after the other"))) << "was not measured";
}

// DEEP-GAP's question.
TEST(Findings, one_device_over_another_by_precision_and_batch) {
  ResultsCollector collector;
  for (const auto& [name, scale] : {std::pair("NVIDIA H100", 1.0), std::pair("NVIDIA H200", 1.4)}) {
    add(collector, {.batch = 1, .throughputs = {100, 100.1, 100.2}, .device = "cuda", .device_name = name});
    add(collector, {.batch = 8, .throughputs = {400 * scale, 401 * scale, 402 * scale}, .device = "cuda", .device_name = name});
    add(collector, {.batch = 8,
                    .throughputs = {900 * scale, 901 * scale, 902 * scale},
                    .precision = Precision::fp16,
                    .threads = 4,
                    .device = "cuda",
                    .device_name = name});
  }
  const auto said = find("devices", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].headline, "resnet50, native: NVIDIA H200 gives 1.00 to 1.40 times the throughput of NVIDIA H100");
  EXPECT_THAT(said[0].detail, HasSubstr("fp16: 1.40 (1."));
  EXPECT_THAT(said[0].detail, HasSubstr("fp32: 1.00 ("));
  EXPECT_THAT(said[0].detail, HasSubstr("not separable, at batch 1 and 1.40 ("));
  EXPECT_THAT(said[0].points, SizeIs(6));
}

TEST(Findings, devices_without_a_common_batch_are_compared_at_their_best) {
  ResultsCollector collector;
  add(collector, {.batch = 16, .throughputs = {100, 101}, .device = "cuda", .device_name = "NVIDIA H100"});
  add(collector, {.batch = 64, .throughputs = {200, 202}, .device = "cuda", .device_name = "NVIDIA H200"});
  const auto said = find("devices", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].detail, HasSubstr("each at its best, batch 64 and 16."));
}

TEST(Findings, one_device_is_not_compared_with_itself) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 101}, .device = "cuda", .device_name = "NVIDIA H100"});
  add(collector, {.throughputs = {100, 101}, .precision = Precision::fp16, .device = "cuda", .device_name = "NVIDIA H100"});
  add(collector, {.throughputs = {100, 101}, .device = "cuda"});
  EXPECT_THAT(find("devices", collector), SizeIs(0));
}

TEST(Findings, precisions_of_several_devices_are_not_mixed) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 101}, .device = "cuda", .device_name = "NVIDIA H100"});
  add(collector, {.throughputs = {500, 501}, .precision = Precision::fp16, .device = "cuda", .device_name = "NVIDIA H200"});
  EXPECT_THAT(find("precision", collector), SizeIs(0));
}

// Eight nodes that measured one Point twice each; the fourth is a tenth slower.
ResultsCollector eight_nodes(double of_fourth, const std::string& scenario) {
  ResultsCollector collector;
  for (int i = 0; i < 16; ++i) {
    Record record = failed(Outcome::ok, "");
    const int node = i / 2;
    record.verdict = Verdict::valid;
    record.point.scenario = scenario;
    record.environment = {{"cpu.model", std::string("A CPU 1")}, {"cpus.allowed", std::string("0,1")}};
    record.facts["fleet.node"] = "n" + std::to_string(node);
    const double x = (node == 3 ? of_fourth : 100) + 0.1 * node + (i % 2 == 0 ? 0.2 : -0.2);
    record.estimates["throughput"] = {x, x - 0.1, x + 0.1, 100};
    collector.add(record);
  }
  return collector;
}

TEST(Findings, slow_nodes_are_named) {
  const auto said = find("outlier_nodes", eight_nodes(90, "batch"));
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("n3: outlier node: 10."));
  EXPECT_THAT(said[0].headline, HasSubstr("than the 7 others of its kind, by 2 runs"));
  EXPECT_THAT(said[0].points, SizeIs(1));
  EXPECT_THAT(find("outlier_nodes", eight_nodes(100, "batch")), SizeIs(0));
  EXPECT_THAT(find("outlier_nodes", eight_nodes(90, "server")), SizeIs(0)) << "an open loop offers what it offers";
}

TEST(Findings, one_device_in_several_machines_is_said) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100}, .device = "cuda", .device_name = "NVIDIA H100", .cpu_model = "A CPU 1"});
  add(collector, {.throughputs = {90}, .device = "cuda", .device_name = "NVIDIA H100", .cpu_model = "B CPU 2"});
  const auto said = find("machine", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("1 point was measured in 2 machines"));
  EXPECT_THAT(said[0].detail, HasSubstr("A CPU 1 and B CPU 2"));
}

TEST(Lines, cards_are_named_by_their_model_and_by_their_index_where_that_is_not_enough) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100}, .device = "cuda", .device_name = "NVIDIA H100"});
  add(collector, {.throughputs = {140}, .device = "cuda", .device_name = "NVIDIA H200"});
  add(collector, {.throughputs = {10}});
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  std::vector<std::string> labels;
  for (const Line& line : workloads.at(0).lines) labels.push_back(line.label);
  EXPECT_THAT(labels, ::testing::ElementsAre("native \u00b7 H100", "native \u00b7 H200", "native \u00b7 cpu"));
}

TEST(Findings, candidates_of_a_peak_search_are_not_ranked_as_engines) {
  ResultsCollector collector;
  for (const double rate : {100.0, 200.0, 400.0}) {
    add(collector,
        {.throughputs = {rate}, .metrics = {{"items_per_s_per_w", rate}}, .options = {{"peak", "search"}, {"rate", std::to_string(rate)}}});
  }
  for (const char* id : {"best_engine", "lowest_latency", "per_watt", "batch_peak"}) EXPECT_THAT(find(id, collector), SizeIs(0)) << id;
  add(collector, {.backend = "onnxruntime", .throughputs = {50}});
  const auto said = find("best_engine", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("onnxruntime"));
}

TEST(Findings, engines_that_peak_at_different_batches_are_compared_at_one_too) {
  ResultsCollector collector;
  add(collector, {.batch = 16, .throughputs = {150, 150.1, 150.2}});
  add(collector, {.batch = 4, .throughputs = {110, 110.1, 110.2}});
  add(collector, {.backend = "onnxruntime", .batch = 4, .throughputs = {100, 100.1, 100.2}});
  const auto said = find("best_engine", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].detail, HasSubstr("That is 1.50 times"));
  EXPECT_THAT(said[0].detail, HasSubstr("At equal batch, 4, it is 1.10 times"));
}

TEST(Lines, labels_side_by_side_say_what_differs) {
  EXPECT_THAT(labels_apart({"a \u00b7 x=1 \u00b7 batch 8", "a \u00b7 x=2 \u00b7 batch 8"}), ::testing::ElementsAre("x=1", "x=2"));
  EXPECT_THAT(labels_apart({"a \u00b7 b", "a"}), ::testing::ElementsAre("b", "a"));
  EXPECT_THAT(labels_apart({"a \u00b7 b"}), ::testing::ElementsAre("a \u00b7 b"));
}

}  // namespace
}  // namespace deepgap
