#include "kernels/tracer.h"

#include "base/json_fields.h"
#include "kernels/align.h"
#include "kernels/cupti_fake.h"
#include "kernels/families.h"
#include "kernels/summary.h"
#include "kernels/trace_json.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace deepgap {
namespace {

using cupti::FakeCupti;
using ::testing::HasSubstr;

cupti::KernelRecord kernel_record(const char* name, uint64_t start, uint64_t end, uint32_t correlation, int grid = 1) {
  cupti::KernelRecord record{};
  record.kind = cupti::kind_kernel;
  record.name = name;
  record.start = start;
  record.end = end;
  record.correlation = correlation;
  record.grid_x = grid;
  record.grid_y = record.grid_z = record.block_y = record.block_z = 1;
  record.block_x = 128;
  record.registers = 40;
  record.static_shared = 1024;
  record.dynamic_shared = 2048;
  record.stream = 7;
  return record;
}

TEST(Tracer, LeadsKernelsBackToTheLayersThatWereAnnounced) {
  FakeCupti fake;
  std::vector<uint32_t> launched;
  fake.on_flush = [&] {
    if (launched.empty()) return;
    fake.add(kernel_record("_ZN2at6native6gatherEv", 900, 1000, launched[0]));
    fake.add(kernel_record("wgmma", 1100, 1500, launched[1], 132));
    fake.add(kernel_record("Add_1", 1600, 1700, launched[3]));
    cupti::CopyRecord copy{};
    copy.kind = cupti::kind_memcpy;
    copy.copy_kind = 2;
    copy.start = 1700;
    copy.end = 1750;
    copy.bytes = 4000;
    copy.correlation = launched[2];
    fake.add(copy);
    fake.add(cupti::CallRecord{cupti::kind_driver, 1, 800, 850, 1, 99, launched[1], 0});
    fake.add_externals();
    fake.deliver();
    launched.clear();
  };
  Tracer tracer(fake.table());
  tracer.begin();
  EXPECT_TRUE(fake.enabled.contains(cupti::kind_kernel));
  launched.push_back(fake.launch());
  tracer.announce("conv1", "Conv");
  launched.push_back(fake.launch());
  tracer.announce("add1", "Add");
  launched.push_back(fake.launch());
  launched.push_back(fake.launch());
  const Trace trace = tracer.end();
  EXPECT_TRUE(fake.enabled.empty()) << "nothing is watched afterwards";
  EXPECT_TRUE(fake.pushed.empty());
  ASSERT_EQ(trace.kernels.size(), 3U);
  EXPECT_EQ(trace.kernels[0].name, "at::native::gather()");
  EXPECT_EQ(trace.kernels[0].layer, -1);
  EXPECT_EQ(trace.kernels[1].layer, 0);
  EXPECT_EQ(trace.kernels[1].begin, 300) << "since the first of all, the call";
  EXPECT_EQ(trace.kernels[1].shared_bytes, 3072);
  EXPECT_EQ(trace.kernels[1].grid[0], 132);
  EXPECT_EQ(trace.kernels[2].layer, 1);
  ASSERT_EQ(trace.copies.size(), 1U);
  EXPECT_EQ(trace.copies[0].what, "device to host");
  EXPECT_EQ(trace.copies[0].layer, 1);
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].name, "cuLaunchKernel");
  EXPECT_EQ(json_of(json_to<Trace>(json_of(trace), "trace")), json_of(trace));
}

// With programmatic overlap the second is on the device while the first works; times of both together were longer than the run.
TEST(Tracer, CountsNoTimeInWhichAKernelWaitsForTheOneBeforeIt) {
  FakeCupti fake;
  bool once = true;
  fake.on_flush = [&] {
    if (!std::exchange(once, false)) return;
    fake.add(kernel_record("product", 1000, 1500, 1));
    fake.add(kernel_record("norm", 1100, 1540, 2));
    cupti::KernelRecord beside = kernel_record("beside", 1200, 1300, 3);
    beside.stream = 8;
    fake.add(beside);
    fake.add(kernel_record("alone", 1600, 1650, 4));
    fake.deliver();
  };
  Tracer tracer(fake.table());
  once = false;
  tracer.begin();
  once = true;
  const Trace trace = tracer.end();
  ASSERT_EQ(trace.kernels.size(), 4U);
  std::map<std::string, Nanoseconds> took;
  for (const Kernel& kernel : trace.kernels) took[kernel.name] = kernel.ns();
  EXPECT_EQ(took.at("product"), 500);
  EXPECT_EQ(took.at("norm"), 40);
  EXPECT_EQ(took.at("beside"), 100) << "another stream waits for nothing";
  EXPECT_EQ(took.at("alone"), 50);
  EXPECT_TRUE(
      std::is_sorted(trace.kernels.begin(), trace.kernels.end(), [](const Kernel& a, const Kernel& b) { return a.begin < b.begin; }));
}

TEST(TraceJson, LeadsIntoItsOwnLayers) {
  Trace trace;
  trace.layers = {{"conv1", "Conv"}};
  trace.kernels.resize(1);
  for (const int layer : {-1, 0}) {
    trace.kernels[0].layer = layer;
    EXPECT_NO_THROW(check_layers(trace)) << layer;
  }
  for (const int layer : {-2, 1}) {
    trace.kernels[0].layer = layer;
    EXPECT_THROW(check_layers(trace), Error) << layer;
  }
  trace.kernels.clear();
  trace.copies.resize(1);
  trace.copies[0].layer = 1;
  EXPECT_THROW(check_layers(trace), Error);
}

TEST(Tracer, SaysWhyItCannotWatch) {
  FakeCupti fake;
  fake.fails["cuptiActivityEnable"] = cupti::not_supported;
  Tracer tracer(fake.table());
  try {
    tracer.begin();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_THAT(error.what(), HasSubstr("CUPTI_ERROR_SCRIPTED while beginning to watch"));
  }
}

Trace sequence(const std::vector<std::pair<std::string, int>>& kernels) {
  Trace trace;
  Nanoseconds at = 0;
  for (const auto& [name, layer] : kernels) {
    Kernel kernel;
    kernel.name = name;
    kernel.layer = layer;
    kernel.begin = at;
    kernel.end = at += 10;
    trace.kernels.push_back(kernel);
  }
  trace.layers = {{"a", "Conv"}, {"b", "Add"}, {"c", "Gemm"}};
  return trace;
}

TEST(Align, GivesAPlainRunTheLayersOfAnAnnouncedOne) {
  const Trace announced = sequence({{"conv", 0}, {"add", 1}, {"gemm", 2}, {"reduce", 2}});
  Trace plain = sequence({{"gather", -1}, {"conv", -1}, {"add", -1}, {"add", -1}, {"gemm", -1}, {"reduce", -1}});
  EXPECT_DOUBLE_EQ(assign_layers(announced, plain), 4.0 / 6);
  std::vector<int> layers;
  for (const Kernel& kernel : plain.kernels) layers.push_back(kernel.layer);
  EXPECT_EQ(layers[0], -1) << "the gathering of the inputs is no layer's";
  EXPECT_EQ(layers[1], 0);
  EXPECT_EQ(layers[4], 2);
  EXPECT_EQ(layers[5], 2);
  EXPECT_EQ(plain.layers.size(), 3U);
}

TEST(Summary, CountsWhatRanAndWhatStoodBetween) {
  Trace trace;
  const auto kernel = [&](const char* family, Nanoseconds begin, Nanoseconds end) {
    Kernel made;
    made.name = made.family = family;
    made.begin = begin;
    made.end = end;
    trace.kernels.push_back(made);
  };
  kernel("gemm", 0, 100);
  kernel("copy", 50, 120);  // beside it, on another stream
  kernel("gemm", 150, 250);
  trace.copies.push_back({"device to host", -1, 300, 310, 8, 1, 0, 0});
  const TraceSummary summary = summary_of(trace);
  EXPECT_EQ(summary.span, 310);
  EXPECT_EQ(summary.busy, 120 + 100 + 10);
  EXPECT_EQ(summary.gap_ns(), 80);
  EXPECT_EQ(summary.kernel_ns, 270);
  ASSERT_EQ(summary.families.size(), 2U);
  EXPECT_EQ(summary.families[0].family, "gemm");
  EXPECT_EQ(summary.families[0].kernels, 2);
  ASSERT_EQ(summary.gaps.size(), 2U);
  EXPECT_EQ(summary.gaps[0].ns(), 50);
  EXPECT_EQ(summary.gaps[0].after, "device to host");
}

TEST(Families, AreToldByTheKernelsName) {
  const Families families;
  const auto of = [&](const char* name, const char* op = "") { return families.of(name, op); };
  EXPECT_EQ(of("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4"), "conv forward");
  EXPECT_EQ(of("sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc"), "conv data gradient");
  EXPECT_EQ(of("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc"), "conv weight gradient");
  EXPECT_EQ(of("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_64x64_16x6>(cutlass_tensorop::Params)"),
            "conv forward");
  EXPECT_EQ(of("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>(cutlass::Params)"), "gemm");
  EXPECT_EQ(of("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT"), "gemm");
  EXPECT_EQ(of("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true>"), "batch norm forward");
  EXPECT_EQ(of("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>"), "batch norm backward");
  EXPECT_EQ(of("void at::native::batch_norm_backward_reduce_kernel<float>"), "batch norm backward");
  EXPECT_EQ(of("void at::native::batch_norm_transform_input_channels_last_kernel<float>"), "batch norm forward");
  EXPECT_EQ(of("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)"),
            "elementwise");
  EXPECT_EQ(of("void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>"), "depthwise");
  EXPECT_EQ(of("void at::native::(anonymous namespace)::max_pool_forward_nhwc<float, int>"), "pool");
  EXPECT_EQ(of("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata>"), "optimizer");
  EXPECT_EQ(of("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"), "reduce");
  EXPECT_EQ(of("void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>"), "copy");
  EXPECT_EQ(of("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>"), "attention");
  EXPECT_EQ(of("wgmma", "Conv"), "conv forward");
  EXPECT_EQ(of("wgmma", "Gemm"), "gemm");
  EXPECT_EQ(of("depthwise", "Conv"), "depthwise");
  EXPECT_EQ(of("Add_3", "Add"), "elementwise");
  EXPECT_EQ(of("never_heard_of_it"), "other");
}

TEST(Families, AUsersRulesComeFirst) {
  const Families families("[[rule]]\nfamily = \"mine\"\nkernel = '^wgmma$'\nop = 'Conv'\n", "mine.toml");
  EXPECT_EQ(families.of("wgmma", "Conv"), "mine");
  EXPECT_EQ(families.of("wgmma", "Gemm"), "gemm");
  const auto refused = [](const char* text) {
    try {
      const Families made(text, "mine.toml");
      return std::string("taken");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refused("[[rule]]\nkernel = 'a'\n"), HasSubstr("mine.toml:1: a rule without a family"));
  EXPECT_THAT(refused("[[rule]]\nfamily = 'a'\n"), HasSubstr("needs kernel or op"));
  EXPECT_THAT(refused("[[rule]]\nfamily = 'a'\nkernel = '('\n"), HasSubstr("mine.toml:3: kernel: invalid regular expression '('"));
  EXPECT_THAT(refused("rule ="), HasSubstr("mine.toml:1:"));
  EXPECT_THAT(refused("a = 1"), HasSubstr("there is no [[rule]]"));
}

TEST(TraceEvents, ArePerfettos) {
  Trace trace = sequence({{"void conv<1>(int)", 0}, {"add", 1}});
  trace.calls.push_back({"cuLaunchKernel", 0, 3, 1, 42});
  const auto events = trace_events(trace, "resnet50").at("traceEvents");
  int spans = 0, layers = 0;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    ++spans;
    layers += event.at("pid") == 1 && event.at("tid") == 0 ? 1 : 0;
    EXPECT_TRUE(event.at("dur").is_number());
  }
  EXPECT_EQ(spans, 5);
  EXPECT_EQ(layers, 2);
}

TEST(KernelNames, AreShortened) {
  EXPECT_EQ(short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::A<f>>(int)"), "vectorized_elementwise_kernel");
  EXPECT_EQ(short_kernel_name("void at::native::(anonymous namespace)::max_pool_forward_nhwc<float>(int)"), "max_pool_forward_nhwc");
  EXPECT_EQ(short_kernel_name("sm80_xmma_fprop"), "sm80_xmma_fprop");
  EXPECT_EQ(short_kernel_name("<"), "<");
}

}  // namespace
}  // namespace deepgap
