#include "engine/gpu/wgmma.h"

#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/test_kernels.h"
#include "engine/gpu/tile_epilogue.h"

#include <set>

namespace deepgap::gpu {
namespace {

const Chip h100{90, 132, 227 << 10};

TEST(Wgmma, CompilesInEveryPrecisionWithoutSpills) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const ComputeType compute : {ComputeType::tf32, ComputeType::f16, ComputeType::bf16, ComputeType::i8})
    for (const TestShape& shape : {TestShape{.size = 14, .in = 256, .out = 256}, TestShape{.size = 56, .in = 64, .out = 256, .kernel = 1},
                                   TestShape{.size = 28, .in = 24, .out = 96, .kernel = 3, .stride = 2}}) {
      auto variants = wgmma_variants(test_convolution(compute, shape), h100);
      ASSERT_FALSE(variants.empty());
      variants.resize(std::min<size_t>(variants.size(), 2));
      expect_compiled(variants, h100);
    }
}

Convolution bert_product(ComputeType compute, int64_t in, int64_t out, bool adds) {
  Convolution problem = test_convolution(compute, {.size = 1, .in = in, .out = out, .kernel = 1});
  problem.batch = 8192;
  problem.epilogue.steps = {EpilogueStep::of(adds ? EpilogueStep::Kind::add : EpilogueStep::Kind::activation)};
  if (!adds) problem.epilogue.steps[0].text = "near_gelu(v)";
  if (compute == ComputeType::f8) problem.epilogue.residual = problem.epilogue.target = Element::f16;
  return problem;
}

bool takes_turns(const ConvolutionVariant& variant) { return variant.name.find(" turns") != std::string::npos; }
bool is_paired(const ConvolutionVariant& variant) { return variant.name.ends_with(" c2"); }

// A quick tuner measures eight; without one the first is taken.
TEST(Wgmma, OffersOverlappingTilesBehindTheFirstForAQuickTuner) {
  for (const auto& [in, out] : {std::pair{768, 768}, std::pair{768, 2304}, std::pair{768, 3072}, std::pair{3072, 768}})
    for (const ComputeType compute : {ComputeType::f16, ComputeType::f8}) {
      auto variants = wgmma_variants(bert_product(compute, in, out, out == 768), h100);
      std::set<std::string> names;
      for (const ConvolutionVariant& variant : variants) names.insert(variant.name);
      EXPECT_TRUE(std::none_of(variants.begin(), variants.end(), is_paired)) << "slower wherever they were tried on a card";
      EXPECT_EQ(names.size(), variants.size());
      ASSERT_GE(variants.size(), 8U);
      variants.resize(8);
      EXPECT_FALSE(takes_turns(variants[0])) << variants[0].name;
      EXPECT_TRUE(std::any_of(variants.begin(), variants.end(), takes_turns)) << in << ' ' << out;
    }
}

TEST(Wgmma, NamesOtherTilesAsBefore) {
  WgmmaTile tile;
  tile.teams = 2;
  tile.columns = 192;
  tile.stages = 5;
  const Convolution problem = bert_product(ComputeType::f16, 768, 768, true);
  EXPECT_EQ(variant_of(problem, tile, h100).name, "wgmma 128x192x128 t2 s5 b1");
  tile.turns = true;
  tile.row_blocks = 2;
  const ConvolutionVariant variant = variant_of(problem, tile, h100);
  EXPECT_EQ(variant.name, "wgmma 128x192x128 t2 s5 b1 turns");
  EXPECT_EQ(variant.launches[0].cluster, 1U);
  const WgmmaTile same = tile_of(variant);
  EXPECT_TRUE(same.turns && same.row_blocks == 2 && same.stages == 5);
}

TEST(Wgmma, KeepsOverlappingTilesInRegisters) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const ComputeType compute : {ComputeType::f16, ComputeType::i8, ComputeType::f8, ComputeType::tf32})
    for (const bool adds : {true, false}) {
      if (!adds && compute != ComputeType::f16) continue;
      auto variants = wgmma_variants(bert_product(compute, 768, adds ? 768 : 3072, adds), h100);
      std::erase_if(variants, [](const ConvolutionVariant& variant) { return !takes_turns(variant); });
      ASSERT_FALSE(variants.empty());
      if (compute != ComputeType::f16) variants.resize(std::min<size_t>(variants.size(), 3));
      expect_compiled(variants, h100);
    }
}

// A product as a transformer has it: floats of 16 bits added, or bytes made for the next one.
TEST(Wgmma, CompilesInFloat8) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Element target : {Element::f16, Element::e4m3}) {
    Convolution problem = test_convolution(ComputeType::f8, {.size = 1, .in = 768, .out = 3072, .kernel = 1});
    problem.batch = 12608;
    problem.epilogue.target = problem.epilogue.residual = target;
    if (target == Element::e4m3) problem.epilogue.steps.erase(problem.epilogue.steps.begin());
    auto variants = wgmma_variants(problem, h100);
    ASSERT_FALSE(variants.empty());
    variants.resize(std::min<size_t>(variants.size(), 2));
    expect_compiled(variants, h100);
  }
}

// Bytes with a residual take the most registers.
TEST(Wgmma, OffersNoTileThatSpills) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const TestShape& shape : {TestShape{.size = 7, .in = 512, .out = 2048, .kernel = 1}, TestShape{.size = 28, .in = 128, .out = 128}}) {
    Convolution problem = test_convolution(ComputeType::i8, shape);
    problem.batch = 256;
    expect_compiled(wgmma_variants(problem, h100), h100);
  }
}

TEST(Wgmma, LeavesWhatItCannotDo) {
  Convolution problem = test_convolution(ComputeType::i8, {});
  EXPECT_FALSE(wgmma_variants(problem, h100).empty());
  problem.source_zero = 3;  // TMA pads with 0
  EXPECT_TRUE(wgmma_variants(problem, h100).empty());
  EXPECT_TRUE(wgmma_variants(test_convolution(ComputeType::f16, {.groups = 2}), h100).empty());
  EXPECT_TRUE(wgmma_variants(test_convolution(ComputeType::f32, {}), h100).empty());
  EXPECT_TRUE(wgmma_variants(test_convolution(ComputeType::f16, {}), {100, 148, 227 << 10}).empty());
}

TEST(Wgmma, AThreadStoresNeighbours) {
  for (const int run : {4, 8, 16}) {
    std::set<int> all;
    for (int column = 0; column < 128; column++) all.insert(channel_of_column(column, run));
    EXPECT_EQ(all.size(), 128);
    EXPECT_EQ(*all.rbegin(), 127);
    // A thread holds columns 8j + 2 * quarter + {0, 1}.
    for (int quarter = 0; quarter < 4; quarter++)
      for (int i = 0; i < run; i++) EXPECT_EQ(channel_of_column(i / 2 * 8 + quarter * 2 + i % 2, run), quarter * run + i);
  }
}

TEST(Wgmma, PermutesAsTheCopyEngine) {
  EXPECT_EQ(permuted(128 * 3 + 16 * 2, 128), 128 * 3 + 16 * (2 ^ 3));
  EXPECT_EQ(permuted(64 * 5 + 16 * 1, 64), 64 * 5 + 16 * (1 ^ 2));
  EXPECT_EQ(permuted(32 * 5 + 16 * 1, 32), 32 * 5 + 16 * (1 ^ 1));
  EXPECT_EQ(permuted(128 * 8 + 5, 128), 128 * 8 + 5);
}

TEST(Wgmma, PacksWeightsStepByStep) {
  const Convolution problem = test_convolution(ComputeType::i8, {.in = 192, .out = 80, .kernel = 3});
  Tensor weights = make_tensor(DataType::i8, {80, 192, 3, 3});
  const size_t count = size_t{80} * 192 * 9;
  for (size_t i = 0; i < count; i++) writable<int8_t>(weights)[i] = static_cast<int8_t>(i * 7 % 251);
  for (const auto& [cycles, tile] : wgmma_tiles(problem, h100)) {
    const ConvolutionVariant variant = variant_of(problem, tile, h100);
    const WgmmaPlan plan = plan_of(problem, tile_of(variant));
    const std::vector<std::byte> packed = variant.pack(problem, variant, weights);
    ASSERT_EQ(packed.size(), variant.packed_bytes);
    const int bytes = plan.tile.step_bytes, tap = 5, channel = 130, column = 3;
    const size_t step = static_cast<size_t>(tap) * static_cast<size_t>(plan.tap_steps) + static_cast<size_t>(channel / bytes);
    const size_t place = step * plan.weight_bytes +
                         permuted(static_cast<size_t>(column) * static_cast<size_t>(bytes) + static_cast<size_t>(channel % bytes), bytes);
    const size_t out = static_cast<size_t>(channel_of_column(column, plan.run));
    EXPECT_EQ(static_cast<int>(packed[place]), static_cast<uint8_t>(weights.as<int8_t>()[(out * 192 + channel) * 9 + tap])) << variant.name;
  }
}

}  // namespace
}  // namespace deepgap::gpu
