#include "analysis/lines.h"

#include "analysis/aspects.h"
#include "analysis/finding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

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
  EXPECT_EQ(workloads[0].lines.at(0).label, "native \u00b7 2 threads");  // the same Line has the same label in every chart
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

TEST(Lines, several_cards_are_named_by_their_count) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100}, .device = "cuda", .device_name = "NVIDIA H100 80GB HBM3"});
  add(collector, {.throughputs = {400}, .device = "cuda", .devices = 4, .device_name = "NVIDIA H100 80GB HBM3"});
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  std::vector<std::string> labels;
  for (const Line& line : workloads.at(0).lines) labels.push_back(line.label);
  EXPECT_THAT(labels, ::testing::UnorderedElementsAre("native \u00b7 H100", "native \u00b7 4x H100"));
}

TEST(Lines, cards_whose_names_begin_alike_keep_them_whole) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100}, .device = "cuda", .device_name = "NVIDIA H100 80GB HBM3"});
  add(collector, {.throughputs = {80}, .device = "cuda", .device_name = "NVIDIA H100 PCIe"});
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  EXPECT_EQ(workloads.at(0).lines.at(0).label, "native \u00b7 H100 80GB HBM3");
}

// An option of GPUs is not a difference between them and a CPU; one that differs in another Workload is not named here.
TEST(Lines, an_option_that_is_equal_within_a_kind_of_device_is_left_out) {
  ResultsCollector collector;
  add(collector, {.throughputs = {1}});
  add(collector, {.throughputs = {9}, .device = "cuda", .options = {{"inputs", "ready"}}});
  add(collector, {.throughputs = {8}, .precision = Precision::fp16, .device = "cuda", .options = {{"inputs", "ready"}}});
  add(collector, {.model = "vgg16", .throughputs = {8}, .device = "cuda", .options = {{"inputs", "ready"}}});
  add(collector, {.model = "vgg16", .throughputs = {8}, .device = "cuda", .options = {{"inputs", "host"}}});
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  for (const Line& line : workloads.at(0).lines) EXPECT_THAT(line.label, ::testing::Not(HasSubstr("inputs"))) << line.label;
  for (const Line& line : workloads.at(1).lines) EXPECT_THAT(line.label, HasSubstr("inputs=")) << line.label;
}

TEST(Lines, processes_are_named_where_their_number_differs) {
  ResultsCollector collector;
  const Made four{.throughputs = {400}, .device = "cuda", .devices = 4, .device_name = "NVIDIA H100 80GB HBM3"};
  add(collector, four);
  PointSummary point = collector.results().points.at(0);
  DeviceNames devices;
  devices.add(point);
  EXPECT_EQ(devices.of(point), "4x H100");
  point.point.placement.processes = 4;
  devices.add(point);
  EXPECT_EQ(devices.of(point), "4x H100, 4 processes");
}

TEST(Lines, labels_side_by_side_say_what_differs) {
  EXPECT_THAT(labels_apart({"a \u00b7 x=1 \u00b7 batch 8", "a \u00b7 x=2 \u00b7 batch 8"}), ::testing::ElementsAre("x=1", "x=2"));
  EXPECT_THAT(labels_apart({"a \u00b7 b", "a"}), ::testing::ElementsAre("b", "a"));
  EXPECT_THAT(labels_apart({"a \u00b7 b"}), ::testing::ElementsAre("a \u00b7 b"));
  EXPECT_EQ(shared_label({"a \u00b7 x=1 \u00b7 batch 8", "a \u00b7 x=2 \u00b7 batch 8"}), "a \u00b7 batch 8");
  EXPECT_EQ(shared_label({"a \u00b7 b"}), "");
}

}  // namespace
}  // namespace deepgap
