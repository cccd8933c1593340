// Findings that set engines, batches, precisions and threads against each other.
#include "analysis/finding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Findings, the_best_engine_is_named_with_the_ratio_and_its_interval) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {120, 121, 122}});
  add(collector, {.batch = 1, .throughputs = {60, 60, 61}});
  add(collector, {.backend = "onnxruntime", .batch = 4, .throughputs = {100, 101, 99}});
  const auto said = find("best_engine", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("121"));
  EXPECT_THAT(said[0].headline, HasSubstr("native at batch 8"));
  EXPECT_THAT(said[0].detail, HasSubstr("1.21x (1."));
  EXPECT_THAT(said[0].detail, HasSubstr("onnxruntime at batch 4"));
  EXPECT_THAT(said[0].points, SizeIs(2));
}

// INT8 against FP16 is no comparison of engines: like with like comes first, and what crosses precisions names both.
TEST(Findings, the_best_engine_is_compared_at_equal_precision_first) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {500, 501, 502}, .precision = Precision::int8});
  add(collector, {.batch = 8, .throughputs = {200, 201, 202}, .precision = Precision::fp16});
  add(collector, {.backend = "libtorch", .batch = 8, .throughputs = {100, 101, 100}, .precision = Precision::fp16});
  const Statement said = find("best_engine", collector).at(0);
  EXPECT_THAT(said.headline, HasSubstr("501.0 items/s with native"));
  EXPECT_THAT(said.headline, HasSubstr("int8"));
  EXPECT_THAT(said.detail, ::testing::StartsWith("native \u00b7 fp16 at batch 8 is 2.00x"));
  EXPECT_THAT(said.detail, HasSubstr("Across precisions, int8 is 4.99x"));
}

TEST(Findings, engines_whose_ratio_may_be_one_are_not_separable) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 110, 120}});
  add(collector, {.backend = "onnxruntime", .throughputs = {99, 111, 118}});
  EXPECT_THAT(find("best_engine", collector).at(0).detail, HasSubstr("not significantly different from onnxruntime"));
}

// What a block does to both falls out: each repeat's ratio is nearly the same.
TEST(Findings, repeats_of_one_block_are_paired) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 130, 160}});
  add(collector, {.backend = "onnxruntime", .throughputs = {91, 118.2, 145.4}});
  EXPECT_THAT(find("best_engine", collector).at(0).detail, HasSubstr("1.100x (1.098 to 1.102) that of onnxruntime"));
}

TEST(Findings, what_was_measured_once_is_not_compared) {
  ResultsCollector collector;
  add(collector, {.throughputs = {200}});
  add(collector, {.backend = "onnxruntime", .throughputs = {100}});
  EXPECT_THAT(find("best_engine", collector).at(0).detail, HasSubstr("not compared with onnxruntime at batch 1 (single run)"));
}

TEST(Findings, a_reason_that_all_rivals_share_is_named_once) {
  ResultsCollector collector;
  for (const int threads : {1, 2, 4}) add(collector, {.throughputs = {100.0 * threads}, .threads = threads});
  const std::string detail = find("best_engine", collector).at(0).detail;
  EXPECT_THAT(detail, ::testing::StartsWith("That is not compared with native"));
  EXPECT_THAT(detail, ::testing::EndsWith(" (single run)."));
  EXPECT_EQ(detail.find("single run"), detail.rfind("single run")) << detail;
}

TEST(Findings, the_smallest_batch_near_the_peak) {
  ResultsCollector collector;
  for (const auto& [batch, throughput] : std::map<int64_t, double>{{1, 50}, {2, 80}, {4, 96}, {8, 100}, {16, 97}}) {
    add(collector, {.batch = batch, .throughputs = {throughput, throughput * 1.001, throughput * 1.002}});
  }
  const auto said = find("batch_peak", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("batch 4 is enough to be within 5 % of the peak"));
  EXPECT_THAT(said[0].detail, HasSubstr("native peaks at batch 8, 2.000x"));
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
  EXPECT_THAT(said[0].headline, HasSubstr("95 % of the peak is reached at batch 1 to 16"));
  EXPECT_EQ(said[0].detail,
            "openvino: batch 16, with the peak at 16; it is the largest measured, so the peak may lie beyond. "
            "native: batch 4, with the peak at 8. onnxruntime: batch 1 is the fastest.");
}

TEST(Findings, lines_of_which_the_same_holds_share_a_sentence) {
  ResultsCollector collector;
  for (int engine = 10; engine < 70; ++engine) {
    for (const int64_t batch : {1, 2, 4})
      add(collector, {.backend = "engine" + std::to_string(engine), .batch = batch, .throughputs = {50}});
  }
  EXPECT_EQ(find("batch_peak", collector).at(0).detail, "engine10, engine11 and 58 more: batch 1 is the fastest.");
}

TEST(Findings, a_peak_at_the_largest_batch_may_lie_beyond) {
  ResultsCollector collector;
  for (const int64_t batch : {1, 2, 4}) add(collector, {.batch = batch, .throughputs = {50.0 * static_cast<double>(batch)}});
  const auto said = find("batch_peak", collector);
  EXPECT_THAT(said.at(0).headline, HasSubstr("highest at batch 4, the largest measured"));
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
  add(collector, {.throughputs = {100, 100.2, 100.4}});
  add(collector, {.throughputs = {250, 250.2, 250.4}, .precision = Precision::bf16});
  const auto said = find("precision", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("bf16 is 2.5"));
}

// A line that was cut off early has its peak where it was cut off: no ratio of peaks.
TEST(Findings, precision_is_compared_where_both_were_measured) {
  ResultsCollector collector;
  add(collector, {.batch = 16, .throughputs = {100, 100.2, 100.4}});
  add(collector, {.batch = 16, .throughputs = {300, 300.2, 300.4}, .precision = Precision::bf16});
  add(collector, {.batch = 512, .throughputs = {900, 900.2, 900.4}, .precision = Precision::bf16});
  auto said = find("precision", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("bf16 is 3"));
  EXPECT_THAT(said[0].detail, HasSubstr("Both at batch 16, the largest that both ran."));
  add(collector, {.batch = 512, .throughputs = {90, 90.2, 90.4}});
  said = find("precision", collector);
  EXPECT_THAT(said[0].headline, HasSubstr("bf16 is 8.98x (8.94 to 9.02)"));
  EXPECT_THAT(said[0].detail, HasSubstr("Batch 512 against batch 16."));
}

// The shorter line's peak is where both ran, fp32's is beyond.
TEST(Findings, precision_at_a_common_batch_is_said_to_be_so) {
  ResultsCollector collector;
  add(collector, {.batch = 16, .throughputs = {300, 300.2, 300.4}, .precision = Precision::bf16});
  add(collector, {.batch = 16, .throughputs = {100, 100.2, 100.4}});
  add(collector, {.batch = 512, .throughputs = {150, 150.2, 150.4}});
  const auto said = find("precision", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("bf16 is 3"));
  EXPECT_THAT(said[0].detail, HasSubstr("Both at batch 16, the largest that both ran."));
}

TEST(Findings, int8_that_is_not_computed_so_is_said) {
  for (const double share : {0.99, 0.3}) {
    ResultsCollector collector;
    add(collector, {.throughputs = {100, 100.2, 100.4}});
    add(collector, {.throughputs = {250, 250.2, 250.4}, .precision = Precision::int8, .metrics = {{"int8_mac_share", share}}});
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
  EXPECT_THAT(said[0].detail, HasSubstr("1.599x"));
  EXPECT_THAT(said[0].detail, HasSubstr("80 %"));
  EXPECT_THAT(said[0].detail, HasSubstr("More threads are slower"));
}

TEST(Findings, a_gpu_against_the_cpu_each_at_its_best) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100, 100.1, 100.2}});
  add(collector, {.throughputs = {150, 150.1, 150.2}, .precision = Precision::bf16});
  EXPECT_TRUE(find("cpu_baseline", collector).empty()) << "no GPU";
  add(collector, {.backend = "libtorch", .batch = 64, .throughputs = {2000, 2002, 2004}, .device = "cuda"});
  add(collector, {.backend = "libtorch", .batch = 256, .throughputs = {6000, 6004, 6008}, .precision = Precision::fp16, .device = "cuda"});
  const auto said = find("cpu_baseline", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("the GPU in fp32 gives 20.0"));
  EXPECT_THAT(said[0].headline, HasSubstr(") times the throughput of the CPU in fp32"));
  EXPECT_THAT(said[0].detail, HasSubstr("at batch 64 against native"));
  EXPECT_THAT(said[0].detail, HasSubstr("Across precisions, the GPU in fp16 gives 40.0"));
}

TEST(Findings, a_gpu_and_a_cpu_that_ran_once_have_no_ratio) {
  ResultsCollector collector;
  add(collector, {.throughputs = {100}});
  add(collector, {.backend = "libtorch", .throughputs = {2000}, .device = "cuda"});
  EXPECT_TRUE(find("cpu_baseline", collector).empty());
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
  EXPECT_THAT(said[0].detail, HasSubstr("That is 1.500x"));
  EXPECT_THAT(said[0].detail, HasSubstr("At equal batch, 4, it is 1.100x"));
}

}  // namespace
}  // namespace deepgap
