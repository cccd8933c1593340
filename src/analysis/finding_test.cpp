// Findings on what went wrong and what lessens trust, and all of them together.
#include "analysis/finding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

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

// The model whose engines differ most comes first, whatever its name; one whose engines do not differ comes last.
TEST(Findings, the_largest_effect_comes_first) {
  ResultsCollector collector;
  add(collector, {.model = "a_tie", .throughputs = {100, 101, 99, 100}});
  add(collector, {.model = "a_tie", .backend = "onnxruntime", .throughputs = {100, 99, 101, 100}});
  add(collector, {.model = "b_small", .throughputs = {110, 111, 109, 110}});
  add(collector, {.model = "b_small", .backend = "onnxruntime", .throughputs = {100, 99, 101, 100}});
  add(collector, {.model = "c_large", .throughputs = {300, 303, 297, 300}});
  add(collector, {.model = "c_large", .backend = "onnxruntime", .throughputs = {100, 99, 101, 100}});
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  for (const FindingStatements& finding : all_findings({results, workloads})) {
    if (finding.id != "best_engine" && finding.id != "lowest_latency") continue;
    ASSERT_THAT(finding.statements, SizeIs(3)) << finding.id;
    EXPECT_THAT(finding.statements[0].headline, HasSubstr("c_large")) << finding.id;
    EXPECT_THAT(finding.statements[1].headline, HasSubstr("b_small")) << finding.id;
    EXPECT_THAT(finding.statements[2].headline, HasSubstr("a_tie")) << finding.id;
  }
}

// Without a rival: what has a verdict to trust, then what rests on most records; the models' names decide last.
TEST(Findings, without_a_rival_the_most_trusted_comes_first) {
  ResultsCollector collector;
  const auto add_repeats = [&](const std::string& model, int repeats, Verdict verdict) {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      Record record = failed(Outcome::ok, "");
      record.point.model = model;
      record.repeat = repeat;
      record.verdict = verdict;
      const double x = 100 + 0.1 * repeat;
      record.estimates["throughput"] = {x, x - 0.1, x + 0.1, 100};
      collector.add(record);
    }
  };
  add_repeats("a_unstable", 5, Verdict::unstable);
  add_repeats("b_few", 3, Verdict::valid);
  add_repeats("c_without_target", 5, Verdict::as_found);
  add_repeats("d_most", 5, Verdict::valid);
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  const auto said = all_findings({results, workloads});
  const auto best = std::find_if(said.begin(), said.end(), [](const FindingStatements& finding) { return finding.id == "best_engine"; });
  ASSERT_NE(best, said.end());
  std::vector<std::string> models;
  for (const Statement& statement : best->statements) models.push_back(statement.headline.substr(0, statement.headline.find(':')));
  EXPECT_THAT(models, ::testing::ElementsAre("d_most", "b_few", "c_without_target", "a_unstable"));
}

// Where batches help most, and where a device differs most, comes first too.
TEST(Findings, the_largest_gain_by_batch_and_by_device_comes_first) {
  ResultsCollector collector;
  for (const auto& [model, gain] : {std::pair("a_small", 1.2), std::pair("b_large", 3.0)}) {
    for (const auto& [device, speed] : {std::pair("NVIDIA H100", 100.0), std::pair("NVIDIA H200", 100 * gain)}) {
      for (const int64_t batch : {1, 2, 4}) {
        const double x = batch == 1 ? speed : speed * gain;
        add(collector,
            {.model = model, .batch = batch, .throughputs = {x, x * 1.01, x * 0.99, x}, .device = "cuda", .device_name = device});
      }
    }
  }
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  size_t seen = 0;
  for (const FindingStatements& finding : all_findings({results, workloads})) {
    if (finding.id != "batch_peak" && finding.id != "devices") continue;
    ++seen;
    ASSERT_THAT(finding.statements, SizeIs(2)) << finding.id;
    EXPECT_THAT(finding.statements[0].headline, HasSubstr("b_large")) << finding.id;
  }
  EXPECT_EQ(seen, 2U);
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

}  // namespace
}  // namespace deepgap
