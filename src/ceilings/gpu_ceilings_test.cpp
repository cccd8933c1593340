// The measuring on a driver that is played, the kernels' text through the compiler where there is one.
#include "ceilings/gpu_ceilings.h"
#include "ceilings/data_sheet.h"
#include "ceilings/gpu_ceiling_kernels.h"
#include "ceilings/roofline.h"
#include "cuda/compiler.h"
#include "cuda/fake_driver.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace deepgap {
namespace {

const std::vector<int> architectures{75, 80, 86, 89, 90, 100, 120};

// Each text once in this process: a driver that is played asks for the same ones in every test.
const cuda::Compiled& compiled_once(const std::string& text, const std::string& architecture) {
  static std::map<std::pair<std::string, std::string>, cuda::Compiled> kept;
  const std::pair key(text, architecture);
  auto found = kept.find(key);
  if (found == kept.end()) found = kept.emplace(key, cuda::compile(text, architecture)).first;
  return found->second;
}

std::set<std::string> precisions_of(int architecture, const std::string& beginning) {
  std::set<std::string> precisions;
  for (const GpuComputeKernel& kernel : gpu_compute_kernels(architecture))
    if (kernel.name.starts_with(beginning)) precisions.insert(kernel.precision);
  return precisions;
}

TEST(GpuCeilings, AreMeasuredWithTheInstructionsThatAChipHas) {
  using Names = std::set<std::string>;
  EXPECT_EQ(precisions_of(60, "mma"), Names{}) << "no tensor cores";
  EXPECT_EQ(precisions_of(70, "mma"), Names{"fp16"});
  EXPECT_EQ(precisions_of(75, "mma"), (Names{"fp16", "int8"}));
  EXPECT_EQ(precisions_of(80, "mma"), (Names{"tf32", "fp16", "bf16", "int8"}));
  EXPECT_EQ(precisions_of(89, "mma"), (Names{"tf32", "fp16", "bf16", "int8", "fp8"}));
  EXPECT_EQ(precisions_of(90, "wgmma"), (Names{"tf32", "fp16", "bf16", "int8", "fp8"}));
  for (const int architecture : {60, 61, 70, 75, 80, 90, 100}) EXPECT_TRUE(precisions_of(architecture, "FFMA").contains("fp32"));
}

// The work of a round, counted from the instruction's shape.
TEST(GpuCeilings, CountMultiplyAndAddAsTwo) {
  std::map<std::string, double> flop;
  for (const GpuComputeKernel& kernel : gpu_compute_kernels(90)) flop[kernel.name] = kernel.flop_per_round;
  EXPECT_EQ(flop.at("FFMA"), 2.0 * 256 * 256);
  EXPECT_EQ(flop.at("wgmma m64n256k16"), 2.0 * 64 * 256 * 16 * 4 * 2);
  EXPECT_EQ(flop.at("wgmma m64n256k32"), 2.0 * 64 * 256 * 32 * 4 * 2);
}

TEST(GpuCeilings, EveryKernelCompilesAndKeepsToItsRegisters) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "there is no NVRTC here";
  for (const int architecture : architectures) {
    for (const GpuComputeKernel& kernel : gpu_compute_kernels(architecture)) {
      const cuda::Compiled& compiled = compiled_once(kernel.text, gpu_target(architecture));
      EXPECT_EQ(cuda::resources_of(compiled).spill_bytes, 0) << kernel.name << " on " << architecture;
      EXPECT_EQ(compiled.log.find("serializ"), std::string::npos) << kernel.name << ": " << compiled.log;
      // Sums whose end nobody can read are left out with all their work: each lane kernel is 256 instructions of 16 bytes.
      const size_t code = kernel.entry.starts_with("lanes_") ? 4096 : 0;
      EXPECT_GT(compiled.cubin.size(), code) << kernel.name << " on " << architecture;
      EXPECT_GE(cuda::resources_of(compiled).registers, kernel.entry.starts_with("wgmma_") ? 128 : 16) << kernel.name << ": the sums";
    }
    EXPECT_EQ(cuda::resources_of(compiled_once(gpu_memory_text(), gpu_target(architecture))).spill_bytes, 0);
  }
}

// The memory of the fake device: a quarter of what is free is written to, and the host's pages are made for it.
constexpr size_t played_bytes = size_t{512} << 20;

TEST(GpuCeilings, AreMadeOfWhatTheDeviceTakes) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "there is no NVRTC here";
  cuda::FakeDriver fake;
  fake.total_bytes = played_bytes;
  const cuda::DriverStandIn driver(fake.table());
  int readings = 0;
  const Ceilings ceilings = measure_gpu_ceilings(
      0,
      [&] {
        return ++readings, GpuState{1.9e9, 2.6e9, 650, 0x4};
      },
      compiled_once);
  ASSERT_TRUE(ceilings.gpu);
  EXPECT_EQ(ceilings.gpu->device, "Played GPU");
  EXPECT_EQ(ceilings.gpu->cache_bytes, 50 << 20);
  EXPECT_EQ(ceilings.threads, 0);
  EXPECT_EQ(ceilings.compute.size(), gpu_compute_kernels(90).size());
  for (const ComputeCeiling& compute : ceilings.compute) {
    EXPECT_GT(compute.flop_per_s, 0);
    EXPECT_TRUE(compute.sustained);
  }
  ASSERT_FALSE(ceilings.memory.empty());
  EXPECT_TRUE(ceilings.memory.back().sustained);
  EXPECT_GT(ceilings.gpu->shared_bytes_per_s, 0);
  EXPECT_EQ(fake.taken_bytes(), 0U);
  EXPECT_EQ(ceilings_to_json(ceilings_from_json(ceilings_to_json(ceilings))), ceilings_to_json(ceilings));
}

// Measures a device on which one kernel takes no time, as when the compiler has left its work out.
Ceilings measured_where_free(const std::string& free) {
  cuda::FakeDriver fake;
  fake.total_bytes = played_bytes;
  fake.on_launch = [&](const std::string& kernel, const cuda::LaunchConfig&, void**, bool) { fake.pass_us(kernel == free ? 0 : 1000); };
  const cuda::DriverStandIn driver(fake.table());
  return measure_gpu_ceilings(0, {}, compiled_once);
}

TEST(GpuCeilings, ThatCannotBeAreLeftOutAndNamed) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "there is no NVRTC here";
  const Ceilings ceilings = measured_where_free("wgmma_int8");
  EXPECT_EQ(ceilings.compute.size(), gpu_compute_kernels(90).size() - 1);
  ASSERT_EQ(ceilings.left_out.size(), 1U);
  EXPECT_TRUE(ceilings.left_out[0].starts_with("int8 wgmma m64n256k32: ")) << ceilings.left_out[0];
  EXPECT_EQ(peak_of(ceilings, "int8")->kernel, "DP4A");
  EXPECT_EQ(ceilings_from_json(ceilings_to_json(ceilings)).left_out, ceilings.left_out);
}

// This happens when the assembler reads once what was to be read again and again.
TEST(GpuCeilings, CachesThatWouldBeQuickerThanAMultiprocessorReadsAreLeftOut) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "there is no NVRTC here";
  const Ceilings ceilings = measured_where_free("read_near");
  EXPECT_EQ(ceilings.gpu->l1_bytes_per_s, 0);
  ASSERT_EQ(ceilings.left_out.size(), 1U);
  EXPECT_TRUE(ceilings.left_out[0].starts_with("first-level caches: ")) << ceilings.left_out[0];
}

TEST(GpuCeilings, MemoryThatIsTakenMakesThemFail) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "there is no NVRTC here";
  cuda::FakeDriver fake;
  fake.total_bytes = played_bytes;
  const cuda::DriverStandIn driver(fake.table());
  fake.others_bytes = fake.total_bytes - (1 << 20);
  try {
    measure_gpu_ceilings(0, {}, compiled_once);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
  }
  EXPECT_EQ(fake.taken_bytes(), 0U);
}

TEST(GpuCeilings, FootprintsReachFarBeyondTheCache) {
  const auto footprints = gpu_footprints(int64_t{50} << 20, int64_t{20} << 30);
  EXPECT_EQ(footprints.front(), 4 << 20);
  EXPECT_EQ(footprints.back(), 1 << 30);
  EXPECT_TRUE(std::is_sorted(footprints.begin(), footprints.end()));
  EXPECT_EQ(gpu_footprints(int64_t{50} << 20, 100 << 20).back(), 100 << 20);
}

TEST(DataSheets, AreFoundByTheNameThatTheDriverTells) {
  const auto variant = [](const std::string& device) {
    const auto sheet = data_sheet_of(device);
    return sheet ? sheet->variant : std::string("none");
  };
  EXPECT_EQ(variant("NVIDIA H100 80GB HBM3"), "H100 SXM5");
  EXPECT_EQ(variant("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(variant("NVIDIA H200"), "H200 SXM5");
  EXPECT_EQ(variant("NVIDIA H200 NVL"), "H200 NVL");
  EXPECT_EQ(variant("NVIDIA A100-SXM4-80GB"), "A100 SXM4 80 GB");
  EXPECT_EQ(variant("NVIDIA A100 80GB PCIe"), "A100 PCIe 80 GB");
  EXPECT_EQ(variant("NVIDIA A10"), "A10");
  EXPECT_EQ(variant("NVIDIA A10G"), "none") << "another card with that beginning";
  EXPECT_EQ(variant("NVIDIA L4"), "L4");
  EXPECT_EQ(variant("NVIDIA L40S"), "L40S");
  EXPECT_EQ(variant("Tesla T4"), "T4");
  EXPECT_EQ(variant("Tesla V100-SXM2-32GB"), "V100 SXM2");
  EXPECT_EQ(variant("Tesla P100-PCIE-12GB"), "P100 PCIe 12 GB");
  EXPECT_EQ(variant("Played GPU"), "none");
}

TEST(DataSheets, SayWhatTheyAreOf) {
  for (const DataSheet& sheet : data_sheets()) {
    EXPECT_TRUE(sheet.flop_per_s.contains("fp32")) << sheet.variant;
    EXPECT_GT(sheet.memory_bytes_per_s, 1e11) << sheet.variant;
    EXPECT_GT(sheet.power_w, 0) << sheet.variant;
    EXPECT_FALSE(sheet.source.empty()) << sheet.variant;
  }
  EXPECT_EQ(data_sheet_of("Tesla T4")->flop_per_s.at("int8"), 130e12);
  EXPECT_FALSE(data_sheet_of("Tesla T4")->flop_per_s.contains("tf32"));
}

TEST(GpuCeilings, AreOfTheDeviceThatALayerRanOn) {
  Ceilings h100;
  h100.gpu.emplace().cache_bytes = 50 << 20;
  h100.compute = {{"fp32", "FFMA", 60e12, 60e12}, {"fp16", "wgmma m64n256k16", 800e12, 800e12}};
  h100.memory = {{16 << 20, 5e12, 5e12, 5e12}, {1 << 30, 3e12, 2.9e12, 3e12}};
  EXPECT_EQ(peak_of(h100, "fp16")->kernel, "wgmma m64n256k16");
  EXPECT_EQ(peak_of(h100, "mixed")->kernel, "wgmma m64n256k16");
  EXPECT_EQ(bandwidth_bytes_per_s(h100, 8 << 20), 5e12);
  EXPECT_EQ(bandwidth_bytes_per_s(h100, 2e9), 3e12);
}

}  // namespace
}  // namespace deepgap
