#include "profile/work_table.h"

#include "profile/explanations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Ceilings card() {
  return {.compute = {{"fp32", "FFMA", 60e12, 60e12}, {"fp16", "wgmma", 800e12, 800e12}},
          .memory = {{int64_t{1} << 30, 3e12, 2e12, 3e12}},
          .gpu = GpuCeilings{.device = "NVIDIA H100"}};
}

Kernel kernel(const char* name, int layer, Nanoseconds begin, Nanoseconds end) {
  Kernel made;
  made.name = name;
  made.layer = layer;
  made.begin = begin;
  made.end = end;
  return made;
}

CountedPart part(const char* name, int layer, double seconds, double read, double written, double ffma, double tensor) {
  CountedPart made{.layer = layer};
  made.counters.kernel = name;
  made.counters.traced_seconds = seconds;
  made.counters.metrics = {{"dram__bytes_read.sum", read},
                           {"dram__bytes_write.sum", written},
                           {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", ffma},
                           {"sm__ops_path_tensor_src_fp16.sum", tensor},
                           {"sm__cycles_active.avg", 90},
                           {"sm__cycles_elapsed.max", 100},
                           {"sm__warps_active.avg.pct_of_peak_sustained_active", 0.5}};
  return made;
}

// A product that tensor cores make, and an addition.
LayerProfile network() {
  LayerProfile profile{.engine = "native 1", .batch = 4, .rounds = 5};
  profile.layers = {{.name = "fc", .op = "Gemm", .nodes = {"fc"}, .ns = 2'000'000, .macs = 10, .flop = 20, .bytes = 40},
                    {.name = "add", .op = "Add", .nodes = {"add"}, .ns = 1'000'000, .macs = 0, .flop = 5, .bytes = 60}};
  profile.whole_ns = 4'000'000;
  profile.times_of_kernels = true;
  Trace& trace = profile.trace.emplace();
  trace.layers = {{"fc", "Gemm"}, {"add", "Add"}};
  trace.kernels = {kernel("wgmma_f16", 0, 0, 2'000'000), kernel("Add_1", 1, 2'000'000, 3'000'000)};
  return profile;
}

LayerProfile counted() {
  LayerProfile profile = network();
  CountedRun& run = profile.counters.emplace();
  run.chip = "GH100";
  run.by_kernel = true;
  run.parts = {part("wgmma_f16", 0, 2e-3, 1e9, 0.5e9, 1e6, 1.2e12), part("Add_1", 1, 1e-3, 1.8e9, 0.9e9, 0, 0)};
  run.whole = part("", -1, 0, 2.8e9, 1.2e9, 1e6, 1.2e12).counters;
  run.known = {{"multiply-adds", "lanes", 0, {}, 100, 0.01, 100}};
  run.passes = 12;
  assign_families(Families(), profile);
  return profile;
}

TEST(WorkTable, SaysTheStudysQuantitiesOfWhatWasCounted) {
  const LayerProfile profile = counted();
  const WorkTable table = work_table(profile, card(), "fp16");
  EXPECT_TRUE(table.counted);
  ASSERT_EQ(table.families.size(), 2U);
  const WorkRow &product = table.families[0], &sum = table.families[1];
  EXPECT_EQ(product.name, "gemm");
  EXPECT_EQ(sum.name, "elementwise");
  EXPECT_DOUBLE_EQ(*product.dram_bytes_per_s(), 0.75e12);
  EXPECT_DOUBLE_EQ(*product.flop_per_s(), 1e9) << "multiply and add of 10^6 FMAs are two";
  EXPECT_DOUBLE_EQ(*product.tensor_flop_per_s(), 0.6e15);
  EXPECT_DOUBLE_EQ(*product.intensity(), 2e6 / 1.5e9) << "as the study defines it: of threads alone";
  EXPECT_DOUBLE_EQ(*product.intensity_with_tensor(), (2e6 + 1.2e12) / 1.5e9);
  EXPECT_EQ(product.bound, "compute");
  EXPECT_DOUBLE_EQ(*product.of_roof, 0.75);
  EXPECT_EQ(sum.bound, "memory");
  EXPECT_DOUBLE_EQ(*sum.of_roof, 0.9);
  EXPECT_DOUBLE_EQ(*sum.busy, 0.9);
  EXPECT_DOUBLE_EQ(*sum.occupancy, 0.5);
  ASSERT_EQ(table.layers.size(), 2U);
  EXPECT_EQ(table.layers[1].name, "add");
  EXPECT_DOUBLE_EQ(*table.layers[1].bytes, 2.7e9);
  EXPECT_EQ(table.layers[1].bound, "memory");
  EXPECT_DOUBLE_EQ(table.network.seconds, 4e-3) << "a plain run's time";
  EXPECT_DOUBLE_EQ(*table.network.bytes, 4e9);
  EXPECT_DOUBLE_EQ(*table.network.dram_bytes_per_s(), 1e12);
}

TEST(WorkTable, ALayerThatWasCountedAsOneIsOfTheFamilyThatMostOfItsTimeIsIn) {
  LayerProfile profile = counted();
  profile.counters->by_kernel = false;
  profile.counters->parts[0].counters.kernel = "fc";
  profile.counters->parts[1].counters.kernel = "add";
  // Two of one family take longer together than the product, which is the longest.
  profile.trace->kernels = {kernel("wgmma_f16", 0, 0, 3), kernel("relu_1", 0, 3, 5), kernel("relu_2", 0, 5, 7)};
  assign_families(Families(), profile);
  EXPECT_EQ(profile.counters->parts[0].counters.family, "elementwise");
  EXPECT_EQ(profile.counters->parts[1].counters.family, "Add") << "as the engine calls it: no kernel is the layer's";
}

// One and a half GB of DRAM, 3.2 of L2 and 12 of L1 for the same operations.
TEST(WorkTable, HoldsEachLevelAgainstItsOwnBandwidth) {
  LayerProfile profile = counted();
  Ceilings ceilings = card();
  ceilings.memory.insert(ceilings.memory.begin(), {int64_t{16} << 20, 8e12, 7e12, 8e12});
  ceilings.gpu->l1_bytes_per_s = 30e12;
  auto& metrics = profile.counters->parts[0].counters.metrics;
  metrics["lts__t_sectors_op_read.sum"] = 80e6;
  metrics["lts__t_sectors_op_write.sum"] = 20e6;
  metrics["l1tex__t_bytes.sum"] = 12e9;
  const WorkTable table = work_table(profile, ceilings, "fp16");
  EXPECT_EQ(counted_levels(table), (std::vector<std::string>{"DRAM", "L2", "L1"}));
  const WorkRow& product = table.families[0];
  ASSERT_EQ(product.levels.size(), 3U);
  EXPECT_DOUBLE_EQ(*product.levels[0].of_bandwidth, 1.5e9 / 2e-3 / 3e12);
  EXPECT_DOUBLE_EQ(*product.levels[0].intensity, *product.intensity_with_tensor());
  EXPECT_DOUBLE_EQ(product.levels[1].bytes, 3.2e9) << "sectors of 32 bytes";
  EXPECT_DOUBLE_EQ(*product.levels[1].of_bandwidth, 0.2);
  EXPECT_DOUBLE_EQ(*level_of(product, "L1")->intensity, (2e6 + 1.2e12) / 12e9);
  EXPECT_DOUBLE_EQ(*level_of(product, "L1")->of_bandwidth, 0.2);
  EXPECT_EQ(level_of(table.families[1], "L1"), nullptr) << "what was not counted is no zero";
  EXPECT_EQ(product.bound, "compute") << "which is of DRAM and arithmetic, as before";
  const auto said = [&] {
    std::vector<std::string> ids;
    for (const Explanation& one :
         explain({"net", "fp16", 4, 1, "cuda:0"}, profile, profile_rows(profile, ceilings, "fp16", 0), {ceilings, true}))
      ids.push_back(one.id);
    return ids;
  };
  EXPECT_THAT(said(), Not(testing::Contains("cache_bound"))) << "a fifth of either";
  metrics["l1tex__t_bytes.sum"] = 54e9;
  EXPECT_THAT(said(), testing::Contains("cache_bound")) << "0.9 of L1's bandwidth where arithmetic's is 0.75";
  metrics["l1tex__t_bytes.sum"] = 12e9;
  EXPECT_THAT(work_text(profile, table, 0), HasSubstr("by level of memory"));
  const auto json = work_json(profile, table).at("families");
  EXPECT_EQ(json[0].at("levels")[2].at("level"), "L1");
  EXPECT_DOUBLE_EQ(json[0].at("l1_bytes"), 12e9);
  EXPECT_EQ(json[1].at("l1_bytes"), nullptr);
  EXPECT_THAT(work_text(counted(), work_table(counted(), card(), "fp16"), 0), Not(HasSubstr("by level of memory")))
      << "of one level there is nothing to compare";
}

TEST(WorkTable, IsOfTheGraphWhereNothingCouldBeCounted) {
  LayerProfile profile = network();
  profile.counters.emplace().missing = "run as root";
  assign_families(Families(), profile);
  const WorkTable table = work_table(profile, card(), "fp16");
  EXPECT_FALSE(table.counted);
  ASSERT_EQ(table.families.size(), 2U);
  EXPECT_EQ(table.families[0].name, "gemm");
  EXPECT_EQ(*table.families[0].fp32_flop, 20);
  EXPECT_EQ(*table.network.bytes, 100);
  EXPECT_FALSE(table.network.tensor_flop.has_value()) << "a graph does not tell who does them";
  EXPECT_FALSE(table.network.intensity_with_tensor().has_value());
  const std::string text = work_text(profile, table, 3);
  EXPECT_THAT(text, HasSubstr("counters: not available: run as root"));
  EXPECT_THAT(text, HasSubstr("counted from the network's graph"));
  const auto json = work_json(profile, table);
  EXPECT_EQ(json.at("source"), "the network's graph");
  EXPECT_EQ(json.at("missing"), "run as root");
  EXPECT_EQ(json.at("network").at("flop"), 25);
  EXPECT_FALSE(json.at("network").contains("fp32_flop")) << "which would be taken for a count";
}

TEST(WorkTable, IsShownWithWhatItStandsOn) {
  LayerProfile profile = counted();
  profile.counters->notes = {"lanes were counted of the whole alone: busy"};
  const WorkTable table = work_table(profile, card(), "fp16");
  const std::string text = work_text(profile, table, 1);
  EXPECT_THAT(text, HasSubstr("counted by the hardware"));
  EXPECT_THAT(text, HasSubstr("network: DRAM"));
  EXPECT_THAT(text, HasSubstr("1.2e+12 operations where the graph has 25"));
  EXPECT_THAT(text, HasSubstr("multiply-adds 100 of 100"));
  EXPECT_THAT(text, HasSubstr("Note: lanes were counted"));
  EXPECT_THAT(text, HasSubstr("slowest kernels, counted"));
  EXPECT_THAT(text, Not(HasSubstr("Add_1"))) << "the slowest alone";
  const auto json = work_json(profile, table);
  EXPECT_EQ(json.at("source"), "hardware counters");
  EXPECT_EQ(json.at("kernels").size(), 2U);
  EXPECT_EQ(json.at("kernels")[0].at("layer"), "fc");
  EXPECT_EQ(json.at("known")[0].at("right"), true);
  EXPECT_DOUBLE_EQ(json.at("network").at("dram_gb_per_s"), 1000);
  EXPECT_EQ(work_json(network(), work_table(network(), card(), "fp16")), nullptr) << "nobody asked for counters";
  EXPECT_EQ(work_text(network(), work_table(network(), card(), "fp16"), 1), "");
}

std::vector<std::string> findings(const LayerProfile& profile) {
  std::vector<std::string> ids;
  for (const Explanation& one : explain({"net", "fp16", 4, 1, "cuda:0"}, profile, profile_rows(profile, card(), "fp16", 0), {card(), true}))
    ids.push_back(one.id);
  return ids;
}

TEST(WorkTable, FindingsStandOnWhatWasCounted) {
  using ::testing::Contains;
  LayerProfile profile = counted();
  EXPECT_THAT(findings(profile), Contains("counted_bound"));
  EXPECT_THAT(findings(profile), Contains("more_traffic")) << "4 GB where the graph has 100 bytes";
  EXPECT_THAT(findings(profile), Not(Contains("tensor_cores_unused")));
  profile.counters->parts[0].counters.metrics["sm__ops_path_tensor_src_fp16.sum"] = 0;
  EXPECT_THAT(findings(profile), Contains("tensor_cores_unused")) << "whatever the kernel's name says";
  profile.counters.reset();
  EXPECT_THAT(findings(profile), Not(Contains("tensor_cores_unused"))) << "by its name it uses them";
  EXPECT_THAT(findings(profile), Not(Contains("counted_bound")));
}

TEST(WorkTable, TilesThatHangOverAreToldOf) {
  using ::testing::Contains;
  LayerProfile profile = counted();
  const double flop = profile.counters->parts[0].counters.metrics.at("sm__ops_path_tensor_src_fp16.sum");
  profile.layers[0].macs = static_cast<int64_t>(flop / 2);
  EXPECT_THAT(findings(profile), Not(Contains("tile_overhang"))) << "what the layer asks for";
  profile.layers[0].macs = static_cast<int64_t>(flop / 2 * 0.75);
  EXPECT_THAT(findings(profile), Contains("tile_overhang"));
  profile.layers[0].macs = static_cast<int64_t>(flop);
  EXPECT_THAT(findings(profile), Not(Contains("tile_overhang"))) << "less was done than asked";
}

TEST(WorkTable, WhatWasNotCountedOfAllIsNoRate) {
  LayerProfile profile = counted();
  profile.counters->parts[0].counters.metrics.erase("sm__ops_path_tensor_src_fp16.sum");
  profile.counters->whole.metrics.erase("dram__bytes_read.sum");
  profile.counters->whole.metrics.erase("dram__bytes_write.sum");
  const WorkTable table = work_table(profile, card(), "fp16");
  EXPECT_FALSE(table.families[0].tensor_flop.has_value());
  EXPECT_FALSE(table.network.intensity().has_value());
  EXPECT_EQ(table.network.bound, "");
}

TEST(WorkTable, AStepOfTrainingHasNoLayersAndIsStillToldOfByTheGraph) {
  LayerProfile step = network();
  step.layers.clear();
  step.trace->layers.clear();
  for (Kernel& one : step.trace->kernels) one.layer = -1;
  step.step_flop = 8'000'000;
  step.step_bytes = 4'000'000;
  step.whole_after_ns = 123;
  step.counters.emplace().missing = "run as root";
  assign_families(Families(), step);
  const WorkTable table = work_table(step, card(), "fp16");
  EXPECT_TRUE(table.families.empty());
  EXPECT_DOUBLE_EQ(*table.network.intensity(), 2);
  EXPECT_DOUBLE_EQ(*table.network.flop_per_s(), 2e9);
  EXPECT_THAT(findings(step), Not(::testing::Contains("between_layers")));
  EXPECT_EQ(layer_profile_from_json(layer_profile_to_json(step)).step_flop, 8'000'000);
  EXPECT_EQ(layer_profile_from_json(layer_profile_to_json(step)).whole_after_ns, 123);
}

TEST(WorkTable, GoesIntoTheStoreWithItsProfile) {
  const LayerProfile profile = counted();
  const LayerProfile again = layer_profile_from_json(layer_profile_to_json(profile));
  ASSERT_TRUE(again.counters.has_value());
  EXPECT_EQ(work_json(again, work_table(again, card(), "fp16")), work_json(profile, work_table(profile, card(), "fp16")));
  nlohmann::json old = layer_profile_to_json(profile);
  old.erase("counters");
  EXPECT_FALSE(layer_profile_from_json(old).counters.has_value()) << "of before there were counters";
}

}  // namespace
}  // namespace deepgap
