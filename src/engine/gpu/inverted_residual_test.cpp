#include "engine/gpu/inverted_residual.h"

#include "engine/gpu/test_kernels.h"

namespace deepgap::gpu {
namespace {

Convolution layer(ComputeType compute, int64_t size, int64_t in, int64_t out) {
  Convolution p = test_convolution(compute, {.size = size, .in = in, .out = out, .kernel = 1});
  p.batch = 64;
  p.epilogue.steps = {EpilogueStep::clamped(0, 6)};
  return p;
}

// `in` 0: without the first 1x1.
Chain inverted(ComputeType compute, int64_t size, int64_t in, int64_t wide, int64_t out, int64_t stride, int64_t kernel = 3) {
  Convolution depthwise =
      test_convolution(compute, {.size = size, .in = wide, .out = wide, .kernel = kernel, .stride = stride, .groups = wide});
  depthwise.batch = 64;
  depthwise.epilogue.steps = {EpilogueStep::clamped(0, 6)};
  Convolution project = layer(compute, depthwise.out_h, wide, out);
  project.epilogue.steps.clear();
  if (in == out) project.epilogue.steps = {EpilogueStep::of(EpilogueStep::Kind::add)};
  Chain chain{.links = {{depthwise, false}, {project}}, .branch = {}};
  if (in > 0) chain.links.insert(chain.links.begin(), {layer(compute, size, in, wide), false});
  return chain;
}

TEST(InvertedResidual, CompilesWithoutSpills) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  const bool all = std::getenv("DEEPGAP_LONG_TESTS") != nullptr;
  for (const Chip& chip : test_chips())
    for (const Chain& chain : {inverted(ComputeType::f16, 112, 0, 32, 16, 1), inverted(ComputeType::f16, 112, 16, 96, 24, 2),
                               inverted(ComputeType::bf16, 56, 24, 144, 24, 1), inverted(ComputeType::f16, 28, 40, 240, 40, 1, 5)}) {
      auto variants = inverted_residual_variants(chain, chip);
      ASSERT_FALSE(variants.empty()) << chain.key();
      if (!all) variants.resize(1);
      for (const ChainVariant& variant : variants) {
        const cuda::KernelResources taken = cuda::resources_of(cuda::compile(variant.launch.source, chip.target()));
        EXPECT_EQ(taken.spill_bytes + taken.stack_bytes, 0) << variant.name << " of " << chain.key() << " for " << chip.target();
        EXPECT_LE(variant.launch.shared_bytes, chip.shared_bytes) << variant.name;
      }
    }
}

TEST(InvertedResidual, IsOfHalvesThatNobodyElseReads) {
  const Chain right = inverted(ComputeType::f16, 28, 32, 192, 32, 1);
  EXPECT_TRUE(is_inverted_residual(right));
  EXPECT_FALSE(is_inverted_residual(inverted(ComputeType::i8, 28, 32, 192, 32, 1)));
  EXPECT_FALSE(is_inverted_residual(inverted(ComputeType::tf32, 28, 32, 192, 32, 1)));
  Chain stored = right;
  stored.links[1].stored = true;
  EXPECT_FALSE(is_inverted_residual(stored));
  Chain grouped = right;
  grouped.links[1].problem.groups = 96;
  EXPECT_FALSE(is_inverted_residual(grouped));
  Chain adding = right;
  adding.links[0].problem.epilogue.steps.push_back(EpilogueStep::of(EpilogueStep::Kind::add));
  EXPECT_FALSE(is_inverted_residual(adding));
}

TEST(InvertedResidual, WantsTensorCoresOfHalves) {
  EXPECT_TRUE(inverted_residual_variants(inverted(ComputeType::f16, 28, 32, 192, 32, 1), {75, 40, 64 << 10}).empty());
}

}  // namespace
}  // namespace deepgap::gpu
