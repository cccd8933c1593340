// Findings that set devices against each other, and several against one.
#include "analysis/finding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

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
  EXPECT_THAT(said[0].detail, HasSubstr("2 devices in one process: 1.900x"));
  EXPECT_THAT(said[0].detail, HasSubstr("a scaling efficiency of 0.950 (0.9"));
  EXPECT_THAT(said[0].detail, HasSubstr("2 sessions on a device: 1.100x"));
  EXPECT_THAT(said[0].points, SizeIs(3));
}

TEST(Findings, processes_that_train_together_have_an_efficiency_and_a_cost) {
  ResultsCollector collector;
  const auto add_training = [&](int devices, int64_t batch, double throughput) {
    Record record;
    record.point.task = Task::train;
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
  EXPECT_THAT(said[0].headline,
              HasSubstr("Training resnet50 in fp32 by 2 processes of batch 64 on 2 devices: weak scaling efficiency 0.90"));
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
  EXPECT_THAT(said[0].headline,
              ::testing::MatchesRegex("resnet50, native: NVIDIA H200 gives 1.000 \\([0-9.]+ to [0-9.]+, no significant difference\\) to "
                                      "1.400 \\([0-9.]+ to [0-9.]+\\) times the throughput of NVIDIA H100"));
  EXPECT_THAT(said[0].detail, HasSubstr("fp16: 1.400 (1."));
  EXPECT_THAT(said[0].detail, HasSubstr("fp32: 1.000 ("));
  EXPECT_THAT(said[0].detail, HasSubstr("no significant difference) at batch 1 and 1.400 ("));
  EXPECT_THAT(said[0].points, SizeIs(6));
}

TEST(Findings, devices_that_were_measured_once_are_not_told_apart) {
  ResultsCollector collector;
  for (const int64_t batch : {1, 2, 4, 8, 16}) {
    add(collector, {.batch = batch, .throughputs = {100}, .device = "cuda", .device_name = "NVIDIA H100"});
    add(collector, {.batch = batch, .throughputs = {106}, .device = "cuda", .device_name = "NVIDIA H200"});
  }
  const auto said = find("devices", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].headline, "resnet50, native: NVIDIA H200 gives 1.06 times the throughput of NVIDIA H100 (single run)");
  EXPECT_EQ(said[0].detail, "fp32: from 1.06 at batch 1 to 1.06 at batch 16 (single run).");
  for (const char* name : {"NVIDIA H100", "NVIDIA H200"})
    add(collector, {.batch = 32, .throughputs = {100, 101, 102}, .device = "cuda", .device_name = name});
  const auto some = find("devices", collector);
  EXPECT_THAT(some.at(0).headline, HasSubstr("no significant difference) to 1.06 (single run) times the throughput"));
  EXPECT_THAT(some.at(0).detail, HasSubstr("; 7 of 7 ratios do not differ significantly from 1"));
}

TEST(Findings, a_slower_device_that_takes_less_says_how_well_that_is_known) {
  ResultsCollector collector;
  for (const auto& [name, throughput, energy] : {std::tuple("NVIDIA H100", 200.0, 4.0), std::tuple("NVIDIA L4", 100.0, 2.0)})
    add(collector, {.throughputs = {throughput}, .device = "cuda", .metrics = {{"energy_j_per_item", energy}}, .device_name = name});
  const auto said = find("slower_device", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].detail, HasSubstr("fp32 batch 1: 0.50 times the energy (single run)."));
}

TEST(Findings, devices_without_a_common_batch_are_compared_at_their_best) {
  ResultsCollector collector;
  add(collector, {.batch = 16, .throughputs = {100, 101}, .device = "cuda", .device_name = "NVIDIA H100"});
  add(collector, {.batch = 64, .throughputs = {200, 202}, .device = "cuda", .device_name = "NVIDIA H200"});
  const auto said = find("devices", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].detail, HasSubstr("each at its best, batch 64 and 16 (2 repeats, where a comparison takes 3)."));
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

}  // namespace
}  // namespace deepgap
