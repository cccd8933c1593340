#include "engine/gpu/kernel_text.h"
#include "engine/gpu/test_kernels.h"

namespace deepgap::gpu {
namespace {

TEST(Direct, CompilesForEveryChipAndPrecision) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Chip& chip : test_chips())
    for (const ComputeType compute : {ComputeType::f32, ComputeType::tf32, ComputeType::f16, ComputeType::bf16, ComputeType::i8})
      expect_compiled(direct_variants(test_convolution(compute, {.in = 12, .out = 20, .groups = 4}), chip), chip);
}

TEST(Direct, PacksWeightsByOutputRowColumnInput) {
  const Convolution problem = test_convolution(ComputeType::f16, {.in = 2, .out = 3, .kernel = 2});
  Tensor weights = make_tensor(DataType::f32, {3, 2, 2, 2});
  for (size_t i = 0; i < 24; i++) writable<float>(weights)[i] = static_cast<float>(i) + 1.0f / 4096;
  const ConvolutionVariant variant = direct_variants(problem, {}).at(0);
  const std::vector<std::byte> packed = variant.pack(problem, variant, weights);
  ASSERT_EQ(packed.size(), 24 * sizeof(float));
  const auto* values = reinterpret_cast<const float*>(packed.data());
  EXPECT_EQ(values[8 + 1], 12);               // out 1, y 0, x 0, in 1; the rest beyond a half is gone
  EXPECT_EQ(values[16 + 4 + 2], 16 + 2 + 1);  // out 2, y 1, x 1, in 0
  EXPECT_EQ(values[0], rounded(ComputeType::f16, 1.0f / 4096));
}

TEST(Direct, NothingIsLaunchedForAnEmptyTensor) {
  Convolution problem = test_convolution(ComputeType::f16, {});
  problem.batch = 0;
  const std::vector<ConvolutionVariant> variants = convolution_variants(problem, {});
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_TRUE(variants[0].launches.empty());
}

TEST(Direct, StandsInWhereNoFamilyDoesTheProblem) {
  Convolution problem = test_convolution(ComputeType::f16, {.size = 40, .in = 8, .out = 8, .kernel = 19});
  problem.groups = 2;
  const std::vector<ConvolutionVariant> variants = convolution_variants(problem, {});
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants[0].name, "direct");
}

TEST(KernelText, KeysTellProblemsApart) {
  const Convolution one = test_convolution(ComputeType::f16, {});
  Convolution other = one;
  EXPECT_EQ(one.key(), other.key());
  other.epilogue.steps.pop_back();
  EXPECT_NE(one.key(), other.key());
  other = one;
  other.dilation_w = 2;
  EXPECT_NE(one.key(), other.key());
}

TEST(KernelText, Tf32RoundsToTheNearest) {
  EXPECT_EQ(rounded(ComputeType::tf32, 1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
  EXPECT_EQ(rounded(ComputeType::tf32, 1.0f + 0x1p-12f), 1.0f);
}

}  // namespace
}  // namespace deepgap::gpu
