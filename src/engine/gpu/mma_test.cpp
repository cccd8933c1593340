#include "engine/gpu/test_kernels.h"

namespace deepgap::gpu {
namespace {

TEST(Mma, CompilesInFloat8WhereTheChipHasIt) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Chip& chip : test_chips()) {
    Convolution problem = test_convolution(ComputeType::f8, {.size = 1, .in = 768, .out = 768, .kernel = 1});
    problem.batch = 4096;
    problem.epilogue.target = problem.epilogue.residual = Element::f16;
    auto variants = mma_variants(problem, chip);
    EXPECT_EQ(variants.empty(), chip.architecture < 89);
    variants.resize(std::min<size_t>(variants.size(), 1));
    expect_compiled(variants, chip);
  }
}

std::vector<ConvolutionVariant> first(std::vector<ConvolutionVariant> variants, size_t count) {
  variants.resize(std::min(variants.size(), count));
  return variants;
}

TEST(Mma, CompilesForEveryChipAndPrecision) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Chip& chip : test_chips())
    for (const ComputeType compute : {ComputeType::f32, ComputeType::tf32, ComputeType::f16, ComputeType::bf16, ComputeType::i8})
      expect_compiled(first(mma_variants(test_convolution(compute, {.in = 72, .out = 100}), chip), 1), chip);
}

TEST(Depthwise, CompilesForEveryChipAndPrecision) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Chip& chip : test_chips())
    for (const ComputeType compute : {ComputeType::f32, ComputeType::f16, ComputeType::i8})
      expect_compiled(first(depthwise_variants(test_convolution(compute, {.in = 40, .out = 40, .groups = 40}), chip), 2), chip);
}

TEST(Depthwise, IsForChannelsByThemselvesAlone) {
  EXPECT_TRUE(depthwise_variants(test_convolution(ComputeType::f16, {}), {}).empty());
  EXPECT_TRUE(depthwise_variants(test_convolution(ComputeType::f16, {.groups = 8}), {}).empty());
}

// Each weight is somewhere in what is packed, once; the rest is zeros.
TEST(Mma, PacksEveryWeightOnce) {
  for (const TestShape& shape : {TestShape{.in = 24, .out = 40}, TestShape{.in = 64, .out = 64, .groups = 4},
                                 TestShape{.in = 3, .out = 9, .kernel = 5}, TestShape{.in = 8, .out = 16, .groups = 8}}) {
    const Convolution problem = test_convolution(ComputeType::f32, shape);
    const int64_t count = shape.out * shape.in / shape.groups * shape.kernel * shape.kernel;
    Tensor weights = make_tensor(DataType::f32, {shape.out, shape.in / shape.groups, shape.kernel, shape.kernel});
    for (int64_t i = 0; i < count; i++) writable<float>(weights)[static_cast<size_t>(i)] = static_cast<float>(i + 1);
    for (const ConvolutionVariant& variant : mma_variants(problem, {})) {
      const std::vector<std::byte> packed = variant.pack(problem, variant, weights);
      ASSERT_EQ(packed.size(), variant.packed_bytes);
      const auto* values = reinterpret_cast<const float*>(packed.data());
      std::vector<float> found;
      std::copy_if(values, values + packed.size() / sizeof(float), std::back_inserter(found), [](float v) { return v != 0; });
      std::sort(found.begin(), found.end());
      ASSERT_EQ(found.size(), static_cast<size_t>(count)) << variant.name;
      for (int64_t i = 0; i < count; i++) ASSERT_EQ(found[static_cast<size_t>(i)], static_cast<float>(i + 1)) << variant.name;
    }
  }
}

TEST(Mma, OffersClustersOnlyWhereChipsHaveThem) {
  const Convolution problem = test_convolution(ComputeType::i8, {.size = 7, .in = 512, .out = 512});
  const auto in_clusters = [&](const Chip& chip) {
    const auto variants = mma_variants(problem, chip);
    return std::count_if(variants.begin(), variants.end(), [](const ConvolutionVariant& v) { return v.launches[0].cluster > 1; });
  };
  EXPECT_EQ(in_clusters(test_chips()[0]), 0);
  EXPECT_GT(in_clusters(test_chips()[2]), 0);
}

}  // namespace
}  // namespace deepgap::gpu
