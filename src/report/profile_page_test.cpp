// The page of a profile, of made-up figures of a GPU; DEEPGAP_PAGE=FILE keeps it, to look at.
#include "report/profile_page.h"

#include "base/file.h"
#include "profile/explanations.h"
#include "report/roofline_chart.h"
#include "report/timeline_chart.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Ceilings card() {
  Ceilings ceilings;
  GpuCeilings& gpu = ceilings.gpu.emplace();
  gpu.device = "NVIDIA H100 80GB HBM3";
  gpu.architecture = 90;
  gpu.multiprocessors = 132;
  gpu.cache_bytes = 50 << 20;
  gpu.l1_bytes_per_s = 30e12;
  ceilings.compute = {{"fp32", "FFMA", 60e12, 59e12, std::nullopt},
                      {"fp16", "wgmma m64n256k16", 800e12, 780e12, Sustained{620e12, 1.4e9, 2.6e9, 699, "sw_power_cap"}}};
  ceilings.memory = {{16 << 20, 6e12, 5e12, 6e12, std::nullopt}, {1 << 30, 3e12, 2.9e12, 3e12, std::nullopt}};
  return ceilings;
}

// Fifty layers in turn: wide and narrow convolutions, additions, a product at the end; with gaps between them.
LayerProfile network() {
  LayerProfile profile{.engine = "native 1.0", .batch = 64, .rounds = 10};
  Trace& trace = profile.trace.emplace();
  Nanoseconds at = 20'000;
  for (int i = 0; i < 50; ++i) {
    const char* op = i == 49 ? "Gemm" : i % 5 == 4 ? "Add" : "Conv";
    const std::string name = fmt::format("stage{}.{}{}", i / 12 + 1, op, i);
    const int64_t macs = i % 5 == 4 ? 0 : int64_t{3'000'000'000} * (1 + i % 4);
    const int64_t bytes = int64_t{30'000'000} * (1 + i % 7);
    const Nanoseconds ns = 15'000 + 9'000 * (i % 6);
    profile.layers.push_back({name, op, {name}, {op}, "fp16", ns, macs, 2 * macs + 1'000'000, bytes});
    trace.layers.push_back({name, op});
    Kernel kernel;
    kernel.name = i % 5 == 4 ? "Add_" + std::to_string(i) : i % 3 == 0 ? "sm80_xmma_fprop_implicit_gemm" : "implicit_convolve_sgemm";
    kernel.family = i % 5 == 4 ? "elementwise" : i == 49 ? "gemm" : "conv forward";
    kernel.layer = i;
    kernel.begin = at;
    kernel.end = at + ns;
    kernel.grid = {264 + 17 * i, 1, 1};
    kernel.block = {256, 1, 1};
    kernel.registers = 168;
    kernel.shared_bytes = 96 << 10;
    kernel.stream = 7;
    trace.kernels.push_back(kernel);
    trace.calls.push_back({"cuLaunchKernelEx", at - 15'000, at - 12'000, static_cast<uint64_t>(i), 1});
    at += ns + 6'000;
  }
  trace.copies.push_back({"host to device", -1, 2'000, 18'000, 19'267'584, 7, 0, 0});
  profile.times_of_kernels = true;
  profile.whole_ns = at + 30'000;
  return profile;
}

const ProfileHeader header{"resnet<50>", "fp16", 64, 1, "cuda:0"};

TEST(ProfilePage, SaysWhyAndDrawsWhere) {
  const LayerProfile profile = network();
  const ShownCeilings machine{card(), true};
  const ProfileRows rows = profile_rows(profile, machine.ceilings, "fp16", 0);
  const std::string page = profile_page(header, profile, rows, machine);
  for (const char* part :
       {"Roofline", "Timeline of one batch", "Furthest from their bound", "By family of kernels", "<h2>Measured peaks",
        "class=\"chart roofline\"", "class=\"chart timeline\"", "DRAM 3.00 TB/s", "L2 6.00 TB/s", "NVIDIA H100 data sheet"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, HasSubstr("resnet&lt;50&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("resnet<50>"))) << "a model's name is no markup";
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, HasSubstr("counted from the network's graph"));
  if (const char* file = std::getenv("DEEPGAP_PAGE")) write_file_atomic(file, page);
}

TEST(ProfilePage, WithoutCeilingsOrATraceSaysSo) {
  LayerProfile profile = network();
  profile.trace.reset();
  profile.trace_missing = "no libcupti.so.13";
  const ShownCeilings none{{}, false, "there is no compiler"};
  const std::string page = profile_page(header, profile, profile_rows(profile, {}, "fp16", 0), none);
  EXPECT_THAT(page, HasSubstr("This machine has no measured peaks to draw: there is no compiler"));
  EXPECT_THAT(page, HasSubstr("Kernels are not available: no libcupti.so.13"));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

TEST(ProfilePage, ShowsWhatTheHardwareCountedOrWhyNot) {
  LayerProfile profile = network();
  const ShownCeilings machine{card(), true};
  const ProfileRows rows = profile_rows(profile, machine.ceilings, "fp16", 0);
  profile.counters.emplace().missing = "run as <root>";
  const std::string without = profile_page(header, profile, rows, machine);
  EXPECT_THAT(without,
              HasSubstr("Counters are not available: run as &lt;root&gt;. Bytes and operations here are counted from the network"));
  profile.counters->missing.clear();
  profile.counters->by_kernel = true;
  CountedPart part;
  part.counters.kernel = "void conv<1>(int)";
  part.counters.family = "conv forward";
  part.counters.traced_seconds = 1e-3;
  part.counters.metrics = {{"dram__bytes_read.sum", 2e9}, {"dram__bytes_write.sum", 1e9}, {"sm__ops_path_tensor_src_fp16.sum", 3e11}};
  profile.counters->parts = {part};
  profile.counters->whole.metrics = part.counters.metrics;
  const std::string page = profile_page(header, profile, rows, machine);
  for (const char* words : {"Counted by the hardware", "conv forward", "<td class=\"num\">3000.0</td>", "<td class=\"num\">300.00</td>",
                            "those of kernels and families by the hardware", "The 1 slowest of 1 kernels, counted"})
    EXPECT_THAT(page, HasSubstr(words));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(ProfilePage, DrawsTheHierarchyWhereItsLevelsWereCounted) {
  LayerProfile profile = network();
  const ShownCeilings machine{card(), true};
  const ProfileRows rows = profile_rows(profile, machine.ceilings, "fp16", 0);
  profile.counters.emplace().by_kernel = true;
  CountedPart part;
  part.counters.kernel = "conv";
  part.counters.family = "conv forward";
  part.counters.traced_seconds = 1e-3;
  part.counters.metrics = {{"dram__bytes_read.sum", 2e9},         {"dram__bytes_write.sum", 1e9},
                           {"lts__t_sectors_op_read.sum", 150e6}, {"lts__t_sectors_op_write.sum", 50e6},
                           {"l1tex__t_bytes.sum", 12e9},          {"sm__ops_path_tensor_src_fp16.sum", 3e11}};
  profile.counters->parts = {part};
  profile.counters->whole.metrics = part.counters.metrics;
  const std::string page = profile_page(header, profile, rows, machine);
  for (const char* words : {"The same by level of memory", "class=\"ring s0\"", "conv forward by L2: 46.88 FLOP a byte",
                            "conv forward by L1: 25.00 FLOP a byte", "<th>by level of memory</th>", "L1 30.00 TB/s"})
    EXPECT_THAT(page, HasSubstr(words));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  if (const char* file = std::getenv("DEEPGAP_PAGE_LEVELS")) write_file_atomic(file, page);
  profile.counters->parts[0].counters.metrics.erase("l1tex__t_bytes.sum");
  profile.counters->whole.metrics.erase("l1tex__t_bytes.sum");
  const std::string without = profile_page(header, profile, rows, machine);
  EXPECT_THAT(without, HasSubstr("conv forward by L2"));
  EXPECT_THAT(without, Not(HasSubstr("conv forward by L1"))) << "what was not counted is not drawn";
}

TEST(ProfilePart, OfAStepOfTrainingTellsItsFamilies) {
  LayerProfile step = network();
  step.layers.clear();
  step.trace->layers.clear();
  for (Kernel& kernel : step.trace->kernels) {
    kernel.layer = -1;
    kernel.family = "conv weight gradient";
  }
  const ShownCeilings machine{card(), true};
  const std::string part = profile_part(header, step, profile_rows(step, machine.ceilings, "fp16", 0), machine);
  EXPECT_THAT(part, HasSubstr("ms a step of training, whose layers no engine times one by one"));
  EXPECT_THAT(part, HasSubstr("<td>conv weight gradient</td><td class=\"num\">50</td>"));
  EXPECT_THAT(part, Not(HasSubstr("between layers")));
  EXPECT_THAT(part, Not(HasSubstr("is in no layer")));
}

std::vector<std::string> ids(const std::vector<Explanation>& all) {
  std::vector<std::string> result;
  for (const Explanation& one : all) result.push_back(one.id);
  return result;
}

TEST(Explanations, StandOnTheirEvidence) {
  using ::testing::Contains;
  LayerProfile profile = network();
  const ShownCeilings machine{card(), true};
  const auto of = [&] { return explain(header, profile, profile_rows(profile, machine.ceilings, "fp16", 0), machine); };
  const auto all = ids(of());
  EXPECT_THAT(all, Contains("launch_bound"));
  EXPECT_THAT(all, Contains("memory_bound"));
  EXPECT_THAT(all, Contains("tensor_cores_unused"));
  EXPECT_THAT(all, Contains("low_occupancy"));
  EXPECT_THAT(all, Contains("power_capped"));
  const std::string mangled = "_ZN7cutlass6KernelI" + std::string(3000, 'N') + "E";
  for (Kernel& kernel : profile.trace->kernels) kernel.name = mangled;
  for (const Explanation& one : of()) EXPECT_LT(one.evidence.size(), 400u) << "a mangled name is cut";
  for (Kernel& kernel : profile.trace->kernels) {
    kernel.name = "wgmma";
    kernel.registers = 32;
    kernel.shared_bytes = 0;
    kernel.grid[0] = 132 * 8 * 40;
  }
  Nanoseconds at = 0;
  for (Kernel& kernel : profile.trace->kernels) {
    const Nanoseconds ns = kernel.ns();
    kernel.begin = at;
    kernel.end = at += ns;
  }
  profile.trace->copies.clear();
  const auto fewer = ids(of());
  for (const char* id : {"launch_bound", "tensor_cores_unused", "low_occupancy", "tail"}) EXPECT_THAT(fewer, Not(Contains(id)));
  EXPECT_TRUE(explain(header, {}, {}, {}).empty()) << "nothing is said of nothing";
}

TEST(Explanations, TheFurthestLayerIsTheOneThatWouldGainMost) {
  const LayerProfile profile = network();
  const ProfileRows rows = profile_rows(profile, card(), "fp16", 0);
  const auto distances = largest_distances(rows, 5);
  ASSERT_EQ(distances.size(), 5U);
  for (size_t i = 1; i < distances.size(); ++i) EXPECT_GE(distances[i - 1].seconds, distances[i].seconds);
  EXPECT_DOUBLE_EQ(distances[0].seconds, rows.layers[distances[0].layer].seconds - *rows.layers[distances[0].layer].roof_seconds);
}

TEST(RooflineChart, DrawsNothingOfNothing) {
  EXPECT_EQ(roofline_svg({}), "");
  RooflineChart chart{.describe = "a", .slopes = {{"DRAM", 1e12}}, .peaks = {{"fp32", 1e13}}};
  EXPECT_EQ(roofline_svg(chart), "");
  chart.dots.push_back({.name = "a<b", .intensity = 2, .flop_per_s = 1e12, .share = 0.5, .tip = "a<b"});
  const std::string svg = roofline_svg(chart);
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, HasSubstr("fp32 10 TFLOP/s"));
  chart.dots.front().intensity = 0;
  EXPECT_EQ(roofline_svg(chart), "") << "what moves no bytes has no place on it";
}

TEST(TimelineChart, DrawsNothingOfNothing) { EXPECT_EQ(timeline_svg({}, {}), ""); }

}  // namespace
}  // namespace deepgap
