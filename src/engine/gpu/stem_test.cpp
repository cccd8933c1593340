#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/test_kernels.h"
#include "engine/gpu/tile_epilogue.h"

namespace deepgap::gpu {
namespace {

const Chip h100{90, 132, 227 << 10};

Convolution stem(ComputeType compute, int64_t kernel, int64_t out) {
  Convolution problem = test_convolution(compute, {.size = 224, .in = 3, .out = out, .kernel = kernel, .stride = 2});
  problem.epilogue.steps = {EpilogueStep::clamped(0, INFINITY)};
  return problem;
}

TEST(Stem, CompilesInEveryPrecisionWithoutSpills) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const ComputeType compute : {ComputeType::tf32, ComputeType::f16, ComputeType::bf16, ComputeType::i8})
    for (const int64_t pitch : {int64_t{4}, static_cast<int64_t>(16 / byte_size(stored_as(compute)))})
      for (const auto& [kernel, out] : {std::pair<int64_t, int64_t>{7, 64}, {3, 24}}) {
        Convolution problem = stem(compute, kernel, out);
        problem.in_pitch = pitch;
        auto variants = stem_variants(problem, h100);
        ASSERT_FALSE(variants.empty());
        if (compute != ComputeType::f16 || kernel != 7) variants.resize(1);
        expect_compiled(variants, h100);
      }
}

TEST(Stem, LeavesManyChannels) {
  EXPECT_TRUE(stem_variants(test_convolution(ComputeType::f16, {.in = 8}), h100).empty());
  EXPECT_TRUE(stem_variants(stem(ComputeType::f32, 7, 64), h100).empty());
  EXPECT_TRUE(stem_variants(stem(ComputeType::f16, 7, 64), {80, 108, 163 << 10}).empty());
}

TEST(Stem, AloneTakesFourChannelsAPixel) {
  Convolution problem = stem(ComputeType::i8, 7, 64);
  problem.in_pitch = 4;
  EXPECT_TRUE(mma_variants(problem, h100).empty());
  EXPECT_TRUE(wgmma_variants(problem, h100).empty());
  EXPECT_FALSE(stem_variants(problem, h100).empty());
  problem = stem(ComputeType::i8, 1, 64);
  problem.in_pitch = 4;
  EXPECT_TRUE(wgmma_variants(problem, h100).empty());
}

TEST(Stem, PacksARowOfTheKernelAsOneRun) {
  const Convolution problem = stem(ComputeType::i8, 7, 64);
  Tensor weights = make_tensor(DataType::i8, {64, 3, 7, 7});
  for (size_t i = 0; i < 9408; i++) writable<int8_t>(weights)[i] = static_cast<int8_t>(i % 127 + 1);
  const ConvolutionVariant variant = stem_variants(problem, h100).at(0);
  const std::vector<std::byte> packed = variant.pack(problem, variant, weights);
  ASSERT_EQ(packed.size(), 7 * 64 * 32);
  const auto at = [&](int row, int column, int byte) {
    return static_cast<int>(
        packed[static_cast<size_t>(row) * 2048 + permuted(static_cast<size_t>(column) * 32 + static_cast<size_t>(byte), 32)]);
  };
  const auto out = static_cast<size_t>(channel_of_column(5, 16));
  EXPECT_EQ(at(2, 5, 4 * 6 + 1), weights.as<int8_t>()[out * 147 + 69]);  // channel 1 of the seventh pixel
  EXPECT_EQ(at(2, 5, 4 * 6 + 3), 0);                                     // there is no fourth channel
  EXPECT_EQ(at(2, 5, 4 * 7), 0);                                         // nor an eighth pixel
}

Convolution pooled_stem(ComputeType compute) {
  Convolution problem = stem(compute, 7, 64);
  problem.in_pitch = 4;
  problem.pool = MaxPool{1, 1, 56, 56};
  return problem;
}

TEST(PooledStem, CompilesWithoutSpills) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const ComputeType compute : {ComputeType::i8, ComputeType::f16, ComputeType::bf16})
    expect_compiled(pooled_stem_variants(pooled_stem(compute), h100), h100);
}

TEST(PooledStem, TakesEpiloguesThatKeepTheOrderOfSums) {
  Convolution problem = pooled_stem(ComputeType::f16);
  EXPECT_FALSE(pooled_stem_variants(problem, h100).empty());
  EXPECT_TRUE(pooled_stem_variants(problem, {80, 108, 163 << 10}).empty());
  problem.epilogue.steps = {EpilogueStep::of(EpilogueStep::Kind::activation)};
  problem.epilogue.steps[0].text = "v * v";
  EXPECT_TRUE(pooled_stem_variants(problem, h100).empty());
  problem = pooled_stem(ComputeType::tf32);
  EXPECT_TRUE(pooled_stem_variants(problem, h100).empty());
}

TEST(PooledStem, IsNoOtherFamilys) {
  for (const ConvolutionVariant& variant : convolution_variants(pooled_stem(ComputeType::i8), h100))
    EXPECT_EQ(variant.name.substr(0, 11), "pooled stem");
}

}  // namespace
}  // namespace deepgap::gpu
