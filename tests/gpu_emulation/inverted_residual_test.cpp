// Inverted residuals as one kernel, their text compiled for the host (hopper_words.h), beside their convolutions one by one.
#include "guarded_memory.h"
#include "hopper_cases.h"
#include "host_compiler.h"
#include "plain_convolution.h"

#include "engine/gpu/inverted_residual.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/test_kernels.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

namespace deepgap::gpu {
namespace {

const Chip ampere{80, 108, 163 << 10};

struct Shape {
  int64_t size = 10, in = 24, wide = 80, out = 24, stride = 1, kernel = 3;
  bool adds = true, expands = true;
  ComputeType compute = ComputeType::f16;
};

Chain inverted(const Shape& shape) {
  const auto layer = [&](int64_t size, int64_t in, int64_t out) {
    Convolution p = test_convolution(shape.compute, {.size = size, .in = in, .out = out, .kernel = 1});
    p.epilogue.steps.clear();
    return p;
  };
  Convolution depthwise = test_convolution(
      shape.compute,
      {.size = shape.size, .in = shape.wide, .out = shape.wide, .kernel = shape.kernel, .stride = shape.stride, .groups = shape.wide});
  depthwise.epilogue.steps = {EpilogueStep::clamped(-1, 6)};
  Convolution project = layer(depthwise.out_h, shape.wide, shape.out);
  if (shape.adds) project.epilogue.steps = {EpilogueStep::of(EpilogueStep::Kind::add)};
  Chain chain{.links = {{depthwise, false}, {project}}, .branch = {}};
  Convolution expand = layer(shape.size, shape.in, shape.wide);
  expand.epilogue.steps = {EpilogueStep::clamped(-2, 6)};
  if (shape.expands) chain.links.insert(chain.links.begin(), {expand, false});
  return chain;
}

std::string host_text_of(const Launch& launch, size_t number) {
  std::string text = without_device_words(launch.source);
  replace_once(text, "extern \"C\" __global__", "static");
  return fmt::format(
      "namespace n_{0} {{\n{1}}}\nextern \"C\" const char* run_{0}(const unsigned* grid, void** p) {{ return run_blocks(grid, {2}, [&] {{ "
      "n_{0}::inverted_residual((const unsigned char*)p[0], (const unsigned char*)p[1], (const unsigned char*)p[2], (const float*)p[3], "
      "(unsigned char*)p[4]); }}); }}\n",
      number, text, launch.block[0]);
}

size_t target_bytes(const Convolution& p) {
  return static_cast<size_t>(p.batch * p.out_h * p.out_w * p.out_pitch) * byte_size(p.epilogue.target);
}

float ended(const Convolution& p, float v, float residual) {
  for (const EpilogueStep& step : p.epilogue.steps)
    v = step.kind == EpilogueStep::Kind::add ? v + residual : std::min(std::max(v, step.low), step.high);
  return v;
}

std::string wrong_result(const Chain& chain, const ChainVariant& variant, Run run) {
  RandomStream random(7, "inverted");
  const Convolution &first = chain.links[0].problem, &last = chain.links.back().problem;
  const auto source_bytes = static_cast<size_t>(first.batch * first.in_h * first.in_w * first.in_pitch) * byte_size(first.source);
  GuardedMemory source(source_bytes);
  GuardedMemory residual(target_bytes(last)), target(target_bytes(last)), packed(variant.packed_bytes);
  fill(source.begin(), first.source, static_cast<int64_t>(source_bytes) / 2, random);
  fill(residual.begin(), last.epilogue.target, static_cast<int64_t>(target_bytes(last)) / 2, random);
  std::vector<Tensor> weights;
  std::vector<float> tables;
  std::vector<std::byte> made(source.begin(), source.begin() + source_bytes);
  for (const Convolution* p : chain.problems()) {
    weights.push_back(weights_of(*p, random));
    const std::vector<float> table = scale_bias_of(*p, random);
    std::vector<std::byte> next(target_bytes(*p));
    convolve(
        *p, weights.back(), table, [&](float v, float other) { return ended(*p, v, other); }, made.data(),
        p->epilogue.has_residual() ? residual.begin() : nullptr, next.data());
    made = std::move(next);
    tables.insert(tables.end(), table.begin(), table.end());
  }
  const std::vector<std::byte> bytes = variant.pack(chain, variant, weights);
  std::memcpy(packed.begin(), bytes.data(), bytes.size());
  std::array<void*, 5> arguments{source.begin(), residual.begin(), packed.begin(), tables.data(), target.begin()};
  if (const char* wrong = run(variant.launch.grid.data(), arguments.data()); wrong != nullptr) return wrong;
  for (int64_t i = 0; i < last.batch * last.out_h * last.out_w * last.out_pitch; ++i) {
    const double found = number_at(target.begin(), last.epilogue.target, i), right = number_at(made.data(), last.epilogue.target, i);
    if (!(std::fabs(found - right) <= 4 * allowed(last.epilogue.target, right)))
      return fmt::format("{} instead of {} at {} of {}x{}x{}", found, right, i, last.out_h, last.out_w, last.out_pitch);
  }
  return {};
}

struct Case {
  Shape shape;
  InvertedTile tile;
};

void expect_right(const std::vector<Case>& cases) {
  std::string text;
  std::vector<std::pair<Chain, ChainVariant>> all;
  for (const Case& one : cases) {
    const Chain chain = inverted(one.shape);
    ASSERT_TRUE(is_inverted_residual(chain)) << chain.key();
    const ChainVariant variant = inverted_residual_variant(chain, one.tile, ampere);
    text += host_text_of(variant.launch, all.size());
    all.emplace_back(chain, variant);
  }
  const HostLibrary library(hopper_host(), text);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(wrong_result(all[i].first, all[i].second, library.function<Run>(fmt::format("run_{}", i))), "")
        << all[i].second.name << " of " << all[i].first.key();
}

// Chunks that do not divide the channels, tiles that hang over the picture, one and several rows of warps.
TEST(EmulatedInvertedResidual, IsRight) {
  expect_right({{{}, {.h = 8, .w = 8, .patch_h = 2, .patch_w = 4, .chunk = 32, .warps = 4}},
                {{.size = 9, .out = 40, .adds = false}, {.h = 4, .w = 14, .patch_h = 4, .patch_w = 2, .chunk = 48, .warps = 8}},
                {{.size = 7, .in = 40, .wide = 72, .out = 40}, {.h = 7, .w = 7, .patch_h = 7, .patch_w = 1, .chunk = 16, .warps = 4}}});
}

TEST(EmulatedInvertedResidual, WithAStrideIsRight) {
  expect_right({{{.size = 15, .in = 16, .wide = 96, .stride = 2, .adds = false},
                 {.h = 8, .w = 8, .patch_h = 4, .patch_w = 4, .chunk = 64, .warps = 4}},
                {{.size = 12, .in = 8, .wide = 48, .out = 16, .stride = 2, .kernel = 5, .adds = false, .compute = ComputeType::bf16},
                 {.h = 4, .w = 4, .patch_h = 2, .patch_w = 2, .chunk = 16, .warps = 4}}});
}

// MobileNet's first block, and one whose wide picture comes in chunks.
TEST(EmulatedInvertedResidual, ThatDoesNotExpandIsRight) {
  expect_right(
      {{{.wide = 32, .out = 16, .adds = false, .expands = false}, {.h = 8, .w = 16, .patch_h = 4, .patch_w = 4, .chunk = 32, .warps = 4}},
       {{.size = 9, .wide = 40, .out = 24, .expands = false}, {.h = 7, .w = 14, .patch_h = 7, .patch_w = 2, .chunk = 16, .warps = 4}}});
}

}  // namespace
}  // namespace deepgap::gpu
