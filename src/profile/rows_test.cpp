#include "profile/rows.h"
#include "profile/counted.h"
#include "profile/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Ceilings machine() {
  return {
      2, {{"fp32", "wide", 100e9, 90e9}, {"int8", "wide", 400e9, 380e9}}, {{1'000, 100e9, 50e9, 40e9}, {1'000'000, 10e9, 9e9, 9e9}}, 3.0};
}

// A batch takes 10 ms: a convolution at half the peak, a pool at a fifth of memory's bandwidth, a reorder of the engine's own, a view.
LayerProfile example() {
  LayerProfile profile{.engine = "native 1.0", .rounds = 7};
  profile.layers = {{"conv1+relu1", "Conv", {"conv1", "relu1"}, {"Conv", "Relu"}, "fp32", 4'000'000, 100'000'000, 200'000'000, 2'000},
                    {"reorder a", "Reorder", {}, {}, "fp32", 1'000'000, -1, -1, -1},
                    {"pool", "MaxPool", {"pool"}, {"MaxPool"}, "fp32", 3'000'000, 0, 1'000'000, 6'000'000},
                    {"conv2", "Conv", {"conv2"}, {"Conv"}, "fp32", 1'800'000, 90'000'000, 180'000'000, 2'000},
                    {"flat", "Flatten", {"flat"}, {"Flatten"}, "fp32", 0, 0, 0, 0}};
  profile.whole_ns = 10'000'000;
  return profile;
}

TEST(ProfileRows, LayersStandBesideTheirRoofs) {
  const ProfileRows rows = profile_rows(example(), machine(), "fp32", 100'000);
  ASSERT_EQ(rows.layers.size(), 5U);
  EXPECT_EQ(rows.layers[0].operators, "Conv+Relu");
  EXPECT_DOUBLE_EQ(rows.layers[0].share, 0.4);
  EXPECT_DOUBLE_EQ(*rows.layers[0].flop_per_s, 50e9);
  EXPECT_DOUBLE_EQ(*rows.layers[0].of_roof, 0.5);
  EXPECT_EQ(rows.layers[0].bound, "compute");
  EXPECT_DOUBLE_EQ(*rows.layers[2].of_roof, 0.2);
  EXPECT_EQ(rows.layers[2].bound, "memory");
  EXPECT_EQ(profile_rows(example(), machine(), "fp32", 100'000'000).layers[2].bound, "cache");
  EXPECT_FALSE(rows.layers[1].flop_per_s || rows.layers[1].bytes || rows.layers[1].of_roof) << "nothing is known of a layer of its own";
  EXPECT_EQ(rows.layers[4].bound, "");
}

TEST(ProfileRows, CopiesArePartOfWhatIsBetween) {
  LayerProfile profile = example();
  profile.whole_ns = 20'000'000;
  Trace& trace = profile.trace.emplace();
  trace.kernels = {{.name = "a", .begin = 6'000'000, .end = 10'000'000}, {.name = "b", .begin = 9'000'000, .end = 15'000'000}};
  trace.copies = {{.what = "host to device", .begin = 0, .end = 5'000'000},
                  {.what = "host to device", .begin = 4'000'000, .end = 7'000'000},  // 1 ms beside the first, 1 ms beside kernels
                  {.what = "device to device", .begin = 15'000'000, .end = 16'000'000},
                  {.what = "device to host", .begin = 16'000'000, .end = 17'000'000}};
  const ProfileRows rows = profile_rows(profile, machine(), "fp32", 100'000);
  EXPECT_NEAR(rows.copied_seconds, 0.007, 1e-12);
  EXPECT_NEAR(rows.between_seconds, 0.0102, 1e-12);
  EXPECT_EQ(profile_rows(example(), machine(), "fp32", 100'000).copied_seconds, 0);
}

TEST(ProfileRows, SumsAndWhatIsBetween) {
  const ProfileRows rows = profile_rows(example(), machine(), "fp32", 100'000);
  EXPECT_DOUBLE_EQ(rows.all.seconds, 0.0098);
  EXPECT_NEAR(rows.between_seconds, 0.0002, 1e-12);
  EXPECT_TRUE(rows.notes.empty());
  ASSERT_EQ(rows.groups.size(), 4U);
  EXPECT_EQ(rows.groups[0].name, "Conv");
  EXPECT_EQ(rows.groups[0].layers, 2);
  EXPECT_DOUBLE_EQ(rows.groups[0].seconds, 0.0058);
  EXPECT_NEAR(*rows.groups[0].of_roof, (0.002 + 0.0018) / 0.0058, 1e-9);
  double shares = 0;
  for (const auto& [bound, share] : rows.bounds) shares += share;
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_EQ(rows.bounds[0].first, "compute");
}

TEST(ProfileRows, WhatDoesNotAddUpIsSaid) {
  LayerProfile slow = example();
  slow.whole_ns = 11'000'000;
  EXPECT_THAT(profile_rows(slow, machine(), "fp32", 0).notes, ElementsAre(HasSubstr("89.1 %")));
  slow.whole_ns = 9'000'000;
  EXPECT_THAT(profile_rows(slow, machine(), "fp32", 0).notes, ElementsAre(HasSubstr("108.9 %")));
  LayerProfile lost = example();
  lost.left_over = {"conv9"};
  EXPECT_THAT(profile_rows(lost, machine(), "fp32", 0).notes, ElementsAre(HasSubstr("conv9")));
  EXPECT_THAT(profile_rows(example(), machine(), "bf16", 0).notes, ElementsAre(HasSubstr("no instruction for bf16")));
  EXPECT_TRUE(profile_rows(example(), {}, "bf16", 0).notes.empty());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ProfileText, FitsTheTerminal) {
  LayerProfile profile = example();
  profile.layers[0].name = "a/very/long/path/to/the/first/convolution/of/the/network+and/its/activation";
  for (const size_t width : {80U, 100U, 120U, 160U}) {
    const ProfileRows rows = profile_rows(profile, machine(), "fp32", 100'000);
    const auto lines = lines_of(profile_text({"net", "fp32", 16, 2}, profile, rows, {machine(), true}, width, 0));
    size_t layer_lines = 0;
    for (const auto& line : lines) {
      if (line.find(" % ") == std::string::npos && line.find("of roof") == std::string::npos) continue;
      if (line.ends_with('.')) continue;  // sentences wrap
      EXPECT_LE(line.size(), width) << line;
      ++layer_lines;
    }
    EXPECT_GE(layer_lines, 10U);
  }
}

TEST(ProfileText, TheSlowestComeFirstWhereOnlySomeAreAskedFor) {
  const LayerProfile profile = example();
  const ProfileRows rows = profile_rows(profile, machine(), "fp32", 100'000);
  const std::string text = profile_text({"net", "fp32", 1, 2}, profile, rows, {machine(), false}, 120, 2);
  EXPECT_LT(text.find("conv1+relu1"), text.find("pool  "));
  EXPECT_EQ(text.find("conv2"), std::string::npos);
  EXPECT_THAT(text, HasSubstr("slowest 2 layers"));
  EXPECT_THAT(text, HasSubstr("measured before"));
}

TEST(ProfileText, ADeviceWithoutCeilingsSaysSo) {
  const LayerProfile profile = example();
  const ProfileRows rows = profile_rows(profile, {}, "fp32", 100'000);
  const ShownCeilings none{{}, false, "those of cuda:0 are not measured"};
  const std::string text = profile_text({"net", "fp32", 1, 1}, profile, rows, none, 100, 0);
  EXPECT_THAT(text, HasSubstr("measured peaks: missing: those of cuda:0 are not measured\n"));
  EXPECT_THAT(text, Not(HasSubstr("of what the measured peaks allow")));
  const auto json = profile_json({"net", "fp32", 1, 1}, profile, rows, none);
  EXPECT_TRUE(json.at("ceilings").is_null());
  EXPECT_EQ(json.at("ceilings_missing"), none.missing);
  for (const auto& layer : json.at("layers")) EXPECT_TRUE(layer.at("of_roof").is_null() && layer.at("bound").is_null());
}

TEST(ProfileText, WithoutCeilingsThereAreNoRatios) {
  const LayerProfile profile = example();
  const ProfileRows rows = profile_rows(profile, {}, "fp32", 100'000);
  const std::string text = profile_text({"net", "fp32", 1, 1}, profile, rows, {}, 100, 0);
  EXPECT_THAT(text, Not(HasSubstr("compute")));
  EXPECT_THAT(text, HasSubstr("50.0"));
}

TEST(ProfileJson, SaysWhatTheTableSays) {
  const LayerProfile profile = example();
  const auto json = profile_json({"net", "fp32", 16, 2}, profile, profile_rows(profile, machine(), "fp32", 100'000), {machine(), true});
  EXPECT_EQ(json.at("layers").size(), 5U);
  EXPECT_DOUBLE_EQ(json.at("layers")[0].at("of_roof"), 0.5);
  EXPECT_TRUE(json.at("layers")[1].at("flop").is_null());
  EXPECT_EQ(json.at("bounds").count("unknown"), 1U);
  EXPECT_DOUBLE_EQ(json.at("whole_ms"), 10.0);
  const LayerProfile back = layer_profile_from_json(layer_profile_to_json(profile));
  EXPECT_EQ(layer_profile_to_json(back), layer_profile_to_json(profile));
}

// An H100 as a test has it: what a layer is divided by, and what is said of the device.
Ceilings gpu() {
  Ceilings ceilings;
  ceilings.gpu.emplace().device = "NVIDIA H100 80GB HBM3";
  ceilings.gpu->cache_bytes = 50'000'000;
  ceilings.compute = {{"fp32", "FFMA", 60e12, 60e12, std::nullopt},
                      {"fp16", "wgmma m64n256k16", 800e12, 780e12, Sustained{620e12, 1.4e9, 2.6e9, 699, "sw_power_cap"}}};
  ceilings.memory = {{16'000'000, 6e12, 5e12, 6e12, std::nullopt}, {1'000'000'000, 3e12, 2.9e12, 3e12, std::nullopt}};
  return ceilings;
}

TEST(ProfileRows, AreDividedByTheGpusOwnCeilings) {
  LayerProfile profile{.engine = "native 1.0", .rounds = 3};
  profile.layers = {{"conv", "Conv", {"conv"}, {"Conv"}, "fp16", 2'000'000, 400'000'000'000, 800'000'000'000, 1'000'000},
                    {"large", "Relu", {"large"}, {"Relu"}, "fp16", 2'000'000, 0, 1, 3'000'000'000},
                    {"small", "Relu", {"small"}, {"Relu"}, "fp16", 1'000'000, 0, 1, 6'000'000}};
  profile.whole_ns = 5'000'000;
  const ProfileRows rows = profile_rows(profile, gpu(), "fp16", 1 << 20);
  EXPECT_DOUBLE_EQ(*rows.layers[0].of_roof, 0.5);
  EXPECT_EQ(rows.layers[0].bound, "compute");
  EXPECT_DOUBLE_EQ(*rows.layers[1].of_roof, 0.5);
  EXPECT_EQ(rows.layers[1].bound, "memory");
  EXPECT_EQ(rows.layers[2].bound, "cache") << "of the GPU, not of the CPU";
}

TEST(Show, WhatTheCpuCountedAndWhatItCouldNot) {
  LayerProfile profile = example();
  profile.cpu.counts = {{"cycles", 2e9}, {"instructions", 5e9}};
  profile.cpu.missing = {{"last_cache_misses", "no such counter"}, {"first_cache_misses", "no such counter"}};
  const ProfileRows rows = profile_rows(profile, machine(), "fp32", 0);
  const std::string text = profile_text({"tiny", "fp32", 1, 2}, profile, rows, {machine(), true}, 120, 0);
  EXPECT_THAT(text, HasSubstr("cycles 2,000,000,000, instructions 5,000,000,000; 2.50 instructions a cycle"));
  EXPECT_THAT(text, EndsWith("\nNote: CPU counters not available: first cache misses, last cache misses: no such counter.\n"))
      << "notes stand below the findings";
  const auto json = profile_json({"tiny", "fp32", 1, 2}, profile, rows, {machine(), true});
  EXPECT_EQ(json.at("cpu_counters").at("counts").at("cycles"), 2e9);
}

TEST(Show, ImportedCountsAddUpByFamily) {
  const NcuFile file = read_ncu_csv(
      "ID,Kernel Name,gpu__time_duration.sum,dram__bytes_read.sum,sm__sass_thread_inst_executed_op_ffma_pred_on.sum\n"
      ",,ms,Gbyte,inst\n0,ampere_sgemm_128x64,2,1,1000000000\n1,copy_kernel,1,2,n/a\n",
      "a.csv");
  const std::string text = counted_text(file, "a.csv", 1);
  EXPECT_THAT(text, HasSubstr("a.csv: 2 kernels, counted by Nsight Compute"));
  EXPECT_THAT(
      text,
      HasSubstr("gemm                                           1     2.000  66.7 %     500.0    1000.0         -      2.00      2.00"));
  EXPECT_THAT(text, HasSubstr("tensor-core operations were not counted"));
  const auto json = counted_json(file, "a.csv");
  EXPECT_EQ(json.at("all").at("kernels"), 2);
  EXPECT_DOUBLE_EQ(json.at("families").at(0).at("intensity"), 2);
  EXPECT_TRUE(json.at("families").at(1).at("gflop_per_s").is_null());
}

TEST(Show, FamiliesKernelsAndGapsOfADevice) {
  LayerProfile profile = example();
  Trace& trace = profile.trace.emplace();
  trace.layers = {{"conv1+relu1", "Conv"}};
  Kernel kernel;
  kernel.name = "void cutlass::Kernel2<x>(int)";
  kernel.family = "conv forward";
  kernel.layer = 0;
  kernel.end = 3'000'000;
  kernel.grid = {132, 1, 1};
  trace.kernels.push_back(kernel);
  kernel.begin = 4'000'000;
  kernel.end = 5'000'000;
  kernel.family = "other";
  kernel.layer = -1;
  trace.kernels.push_back(kernel);
  const ProfileRows rows = profile_rows(profile, gpu(), "fp32", 0);
  const std::string text = profile_text({"tiny", "fp32", 1, 1, "cuda:0"}, profile, rows, {gpu(), true}, 120, 5);
  EXPECT_THAT(text, HasSubstr("batch 1, cuda:0"));
  EXPECT_THAT(text, HasSubstr("conv forward                    1     3.000  75.0 %"));
  EXPECT_THAT(text, HasSubstr("gaps 20.0 %; the longest gap, 1000.0 us, stands before Kernel2"));
  const auto json = profile_json({"tiny", "fp32", 1, 1, "cuda:0"}, profile, rows, {gpu(), true});
  EXPECT_EQ(json.at("device_work").at("kernels").at(0).at("layer"), "conv1+relu1");
  EXPECT_EQ(json.at("device_work").at("gap_ms"), 1.0);
  EXPECT_EQ(layer_profile_to_json(layer_profile_from_json(layer_profile_to_json(profile))), layer_profile_to_json(profile));
  profile.trace.reset();
  profile.trace_missing = "no libcupti.so.13";
  EXPECT_THAT(profile_text({"tiny", "fp32", 1, 1, "cuda:0"}, profile, rows, {gpu(), true}, 120, 5),
              HasSubstr("kernels: not available: no libcupti.so.13"));
}

}  // namespace
}  // namespace deepgap
