#include "engine/gpu/chain.h"

#include "engine/gpu/find_chains.h"
#include "engine/gpu/test_kernels.h"

#include <algorithm>
#include <cmath>

namespace deepgap::gpu {
namespace {

const Chip h100{90, 132, 227 << 10};

Convolution layer(ComputeType compute, int64_t size, int64_t in, int64_t out, int64_t kernel, bool adds) {
  Convolution p = test_convolution(compute, {.size = size, .in = in, .out = out, .kernel = kernel});
  p.batch = 256;
  if (compute == ComputeType::i8) p.source = p.epilogue.target = p.epilogue.residual = Element::u8;
  p.epilogue.steps.clear();
  if (adds && compute == ComputeType::i8) p.epilogue.steps.push_back(EpilogueStep::rounded(0.3F, 128, Element::u8));
  if (adds) p.epilogue.steps.push_back(EpilogueStep::of(EpilogueStep::Kind::add));
  p.epilogue.steps.push_back(EpilogueStep::clamped(0, INFINITY));
  return p;
}

// ResNet-50's first stage: 3x3, 1x1 with the residual, the next block's 1x1.
Chain first_stage(ComputeType compute, int64_t next) {
  return {.links = {{layer(compute, 56, 64, 64, 3, false), false},
                    {layer(compute, 56, 64, 256, 1, true)},
                    {layer(compute, 56, 256, next, 1, false)}},
          .branch = {}};
}

Chain pair(ComputeType compute, int64_t size, int64_t narrow, int64_t wide, int64_t next) {
  return {.links = {{layer(compute, size, narrow, wide, 1, true)}, {layer(compute, size, wide, next, 1, false)}}, .branch = {}};
}

std::vector<Chain> chains_of_resnet50() {
  Chain begin = first_stage(ComputeType::i8, 64);
  begin.branch = layer(ComputeType::i8, 56, 64, 256, 1, false);
  return {begin,
          first_stage(ComputeType::i8, 64),
          first_stage(ComputeType::i8, 128),
          pair(ComputeType::i8, 28, 128, 512, 128),
          first_stage(ComputeType::f16, 64),
          pair(ComputeType::f16, 28, 128, 512, 256),
          pair(ComputeType::f16, 14, 256, 1024, 256),
          pair(ComputeType::i8, 14, 256, 1024, 256)};
}

TEST(Chain, OfResnet50CompilesWithoutSpills) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Chain& chain : chains_of_resnet50()) {
    const auto variants = chain_variants(chain, h100);
    EXPECT_FALSE(variants.empty()) << chain.key();
    for (const ChainVariant& variant : variants) {
      const cuda::KernelResources taken = cuda::resources_of(cuda::compile(variant.launch.source, h100.target()));
      EXPECT_EQ(taken.spill_bytes + taken.stack_bytes, 0)
          << variant.name << " of " << chain.key() << ": " << taken.registers << " registers";
      EXPECT_LE(variant.launch.shared_bytes, h100.shared_bytes) << variant.name << " of " << chain.key();
    }
  }
}

TEST(Chain, IsForHopperAlone) {
  const Chain chain = first_stage(ComputeType::i8, 64);
  EXPECT_TRUE(chain_variants(chain, {80, 108, 163 << 10}).empty());
  EXPECT_TRUE(chain_variants(chain, {89, 58, 99 << 10}).empty());
}

// Weights that do not fit shared memory come through a ring.
TEST(Chain, BringsLargeWeightsChunkByChunk) {
  const auto with_ring = [](const Chain& chain) {
    const auto variants = chain_variants(chain, h100);
    return std::count_if(variants.begin(), variants.end(), [](const ChainVariant& variant) { return variant.tile.weight_stages > 0; });
  };
  EXPECT_GT(with_ring(pair(ComputeType::i8, 14, 256, 1024, 256)), 0);
  EXPECT_GT(with_ring(pair(ComputeType::f16, 28, 128, 512, 128)), 0);
  EXPECT_EQ(with_ring(pair(ComputeType::i8, 56, 64, 256, 64)), 0) << "all fit beside the stages";
}

// Sums that do not fit registers, a residual where none can be, an image wider than a tile.
TEST(Chain, IsNotOfWhatDoesNotFit) {
  const Chain large = pair(ComputeType::i8, 7, 512, 2048, 512);
  EXPECT_TRUE(chain_variants(large, h100).empty());
  const Chain twice{.links = {{layer(ComputeType::i8, 14, 64, 64, 1, true)}, {layer(ComputeType::i8, 14, 64, 64, 1, true)}}, .branch = {}};
  EXPECT_TRUE(chain_variants(twice, h100).empty());
  const Chain broad{.links = {{layer(ComputeType::i8, 112, 64, 64, 3, false)}, {layer(ComputeType::i8, 112, 64, 64, 1, false)}},
                    .branch = {}};
  EXPECT_TRUE(chain_variants(broad, h100).empty());
}

TEST(Chain, HasAKeyWithItsBatch) {
  Chain chain = first_stage(ComputeType::i8, 64);
  EXPECT_EQ(chain.key(), chain.key_before_batch() + "256" + chain.key_behind_batch());
  const std::string key = chain.key();
  chain.links[0].stored = true;
  EXPECT_NE(chain.key(), key);
}

// Steps as lowering makes them: by buffer what they read and write.
class Steps {
 public:
  BufferId input() { return add({.kind = Buffer::Kind::input}); }
  BufferId convolve(const Convolution& problem, BufferId source, BufferId residual = -1) {
    const BufferId target = add({});
    Step step{.name = std::to_string(plan_.steps.size()), .op = "Conv"};
    step.roles = {source, -1, -1, residual, target, -1};
    step.reads = {source};
    if (residual >= 0) step.reads.push_back(residual);
    step.writes = {target};
    step.choice = Choice{problem, {}, {}};
    plan_.steps.push_back(step);
    return target;
  }
  BufferId other(BufferId source) {
    const BufferId target = add({});
    plan_.steps.push_back(
        {.name = "other", .op = "Other", .launches = {}, .roles = {source, target}, .reads = {source}, .writes = {target}, .choice = {}});
    return target;
  }
  void end(BufferId of) { plan_.buffers[static_cast<size_t>(of)].kind = Buffer::Kind::output; }
  const GpuPlan& plan() const { return plan_; }

 private:
  BufferId add(Buffer buffer) {
    plan_.buffers.push_back(buffer);
    return static_cast<BufferId>(plan_.buffers.size() - 1);
  }
  GpuPlan plan_;
};

const ComputeType i8 = ComputeType::i8;

std::vector<FoundChain> taken_of(const GpuPlan& plan, const Chip& chip) {
  ChainFinder finder(plan, chip);
  std::vector<FoundChain> taken;
  for (FoundChain& found : finder.candidates())
    if (finder.take(found)) taken.push_back(found);
  return taken;
}

TEST(FindChains, TakesABlockWithTheNextOnesBeginning) {
  Steps steps;
  const BufferId input = steps.input(), narrow = steps.convolve(layer(i8, 56, 64, 64, 1, false), input);  // 0
  const BufferId spread = steps.convolve(layer(i8, 56, 64, 64, 3, false), narrow);                        // 1
  const BufferId branch = steps.convolve(layer(i8, 56, 64, 256, 1, false), input);                        // 2
  const BufferId sum = steps.convolve(layer(i8, 56, 64, 256, 1, true), spread, branch);                   // 3
  const BufferId next = steps.convolve(layer(i8, 56, 256, 64, 1, false), sum);                            // 4
  const BufferId second = steps.convolve(layer(i8, 56, 64, 64, 3, false), next);                          // 5
  steps.end(steps.convolve(layer(i8, 56, 64, 256, 1, true), second, sum));                                // 6
  const auto found = taken_of(steps.plan(), h100);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].steps, (std::vector<size_t>{1, 3, 4, 2}));
  EXPECT_TRUE(found[0].chain.branch);
  EXPECT_FALSE(found[0].chain.links[0].stored);
  EXPECT_TRUE(found[0].chain.links[1].stored) << "the next block adds it";
  EXPECT_EQ(found[1].steps, (std::vector<size_t>{5, 6}));
  const Step joined = joined_step(steps.plan(), found[0]);
  EXPECT_EQ(joined.reads, (std::vector<BufferId>{narrow, input}));
  EXPECT_EQ(joined.writes, (std::vector<BufferId>{sum, next}));
  EXPECT_EQ(joined.roles[chain_source], narrow);
  EXPECT_EQ(joined.roles[chain_added], input);
  EXPECT_EQ(joined.roles[chain_targets], -1);
  EXPECT_EQ(joined.roles[chain_targets + 1], sum);
  EXPECT_EQ(joined.roles[chain_targets + 2], next);
}

// The chain would read what is made of its own result.
TEST(FindChains, TakesNoneThatHasNoPlace) {
  Steps steps;
  const BufferId input = steps.input(), wide = steps.convolve(layer(i8, 28, 64, 128, 1, false), input);
  const BufferId made = steps.other(wide);
  steps.end(steps.convolve(layer(i8, 28, 128, 256, 1, true), wide, made));
  EXPECT_TRUE(taken_of(steps.plan(), h100).empty());
}

// MobileNetV2's block, of which only the sum is stored.
TEST(FindChains, TakesAnInvertedResidual) {
  const ComputeType f16 = ComputeType::f16;
  Convolution depthwise = layer(f16, 28, 192, 192, 3, false);
  depthwise.groups = 192;
  const auto block = [&](bool is_read_elsewhere) {
    Steps steps;
    const BufferId narrow = steps.other(steps.input()), wide = steps.convolve(layer(f16, 28, 32, 192, 1, false), narrow);
    const BufferId spread = steps.convolve(depthwise, wide);
    steps.end(steps.convolve(layer(f16, 28, 192, 32, 1, true), spread, narrow));
    if (is_read_elsewhere) steps.end(steps.other(spread));
    return steps.plan();
  };
  for (const Chip& chip : {h100, Chip{80, 108, 163 << 10}}) {
    const GpuPlan plan = block(false);
    const auto found = taken_of(plan, chip);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].steps, (std::vector<size_t>{1, 2, 3}));
    const Step joined = joined_step(plan, found[0]);
    const BufferId narrow = plan.steps[1].reads[0];
    EXPECT_EQ(joined.reads, (std::vector<BufferId>{narrow}));
    EXPECT_EQ(joined.roles[chain_source], narrow);
    EXPECT_EQ(joined.roles[chain_added], narrow);
    EXPECT_EQ(joined.roles[chain_targets + 1], -1);
    EXPECT_EQ(joined.roles[chain_targets + 2], plan.steps[3].writes[0]);
    EXPECT_TRUE(taken_of(block(true), chip).empty()) << "what the kernel does not store is wanted";
  }
}

TEST(FindChains, TakesNoneOnOtherChips) {
  Steps steps;
  steps.end(steps.convolve(layer(i8, 28, 128, 64, 1, false), steps.convolve(layer(i8, 28, 64, 128, 1, false), steps.input())));
  EXPECT_EQ(taken_of(steps.plan(), h100).size(), 1U);
  EXPECT_TRUE(taken_of(steps.plan(), {89, 58, 99 << 10}).empty());
}

}  // namespace
}  // namespace deepgap::gpu
