// The kernels of the family `wgmma`, their text compiled for the host (hopper_words.h): who waits for whom, what is read and written.
#include "guarded_memory.h"
#include "hopper_cases.h"
#include "host_compiler.h"
#include "plain_convolution.h"

#include "engine/gpu/test_kernels.h"
#include "engine/gpu/wgmma.h"
#include "stats/random_stream.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>

namespace deepgap::gpu {
namespace {

struct Case {
  Convolution problem;
  WgmmaTile tile;
  int multiprocessors = 3;
  unsigned more_blocks = 0;  // than there is work for
};

// Rows of `in` numbers to rows of `out`, a residual added, nothing below 0.
Convolution product_of(ComputeType compute, int64_t rows, int64_t in, int64_t out) {
  Convolution problem = test_convolution(compute, {.size = 1, .in = in, .out = out, .kernel = 1});
  problem.batch = rows;
  return problem;
}

// As transformers have it: a bias, GELU.
Convolution gelu_of(int64_t rows, int64_t in, int64_t out) {
  Convolution problem = product_of(ComputeType::f16, rows, in, out);
  problem.epilogue.steps = {EpilogueStep::of(EpilogueStep::Kind::activation)};
  problem.epilogue.steps[0].text = "near_gelu(v)";
  return problem;
}

float ended(const Epilogue& epilogue, float v, float residual) {
  for (const EpilogueStep& step : epilogue.steps) {
    if (step.kind == EpilogueStep::Kind::add) v += residual;
    if (step.kind == EpilogueStep::Kind::clamp) v = std::clamp(v, step.low, step.high);
    if (step.kind == EpilogueStep::Kind::activation) v = 0.5F * v * (1 + std::erf(v * 0.70710678F));
  }
  return v;
}

// What the kernel says went wrong, or where its result is.
std::string computed(const Case& one, const ConvolutionVariant& variant, Run run) {
  const Convolution& p = one.problem;
  RandomStream random(11, "products");
  const int64_t in = p.batch * p.in_h * p.in_w * p.in_pitch, out = p.batch * p.out_h * p.out_w * p.out_pitch;
  const size_t out_bytes = static_cast<size_t>(out) * byte_size(p.epilogue.target);
  GuardedMemory source(static_cast<size_t>(in) * byte_size(p.source)), residual(static_cast<size_t>(out) * byte_size(p.epilogue.residual)),
      target(out_bytes), packed(variant.packed_bytes), expected(out_bytes);
  fill(source.begin(), p.source, in, random);
  fill(residual.begin(), p.epilogue.residual, out, random);
  const Tensor weights = weights_of(p, random);
  std::vector<float> scale_bias = scale_bias_of(p, random);
  const std::vector<std::byte> bytes = variant.pack(p, variant, weights);
  std::memcpy(packed.begin(), bytes.data(), bytes.size());
  const Launch& launch = variant.launches.at(0);
  HostMap map = map_of(launch.arguments[0], source.begin());
  std::array<void*, 5> arguments{&map, packed.begin(), scale_bias.data(), target.begin(), residual.begin()};
  const std::array<unsigned, 3> grid{launch.grid[0] + one.more_blocks, 1, 1};
  if (const char* wrong = run(grid.data(), arguments.data()); wrong != nullptr) return wrong;
  convolve(
      p, weights, scale_bias, [&](float v, float r) { return ended(p.epilogue, v, r); }, source.begin(), residual.begin(),
      expected.begin());
  for (int64_t i = 0; i < out; ++i) {
    if (i % p.out_pitch >= p.out_channels) continue;
    const double found = number_at(target.begin(), p.epilogue.target, i), right = number_at(expected.begin(), p.epilogue.target, i);
    if (!(std::fabs(found - right) <= allowed(p.epilogue.target, right)))
      return fmt::format("{} instead of {} in row {}, column {}", found, right, i / p.out_pitch, i % p.out_pitch);
  }
  return {};
}

// By case. `change` may alter a text.
std::vector<std::string> run_all(const std::vector<Case>& cases, const std::function<void(std::string&)>& change = {}) {
  std::string text;
  std::vector<ConvolutionVariant> variants;
  for (const Case& one : cases) {
    variants.push_back(variant_of(one.problem, one.tile, {90, one.multiprocessors, 227 << 10}));
    std::string own = host_text(one.problem, variants.back().launches.at(0), std::to_string(variants.size() - 1));
    if (change) change(own);
    text += own;
  }
  const HostLibrary library(hopper_host(), text);
  std::vector<std::string> wrong;
  for (size_t i = 0; i < cases.size(); ++i)
    wrong.push_back(computed(cases[i], variants[i], library.function<Run>(fmt::format("run_{}", i))));
  return wrong;
}

void expect_right(const std::vector<Case>& cases) {
  const std::vector<std::string> wrong = run_all(cases);
  for (size_t i = 0; i < wrong.size(); ++i) {
    const Case& one = cases.at(i);
    EXPECT_EQ(wrong[i], "") << "case " << i << ": " << one.problem.key() << " by " << variant_of(one.problem, one.tile, {}).name;
  }
}

WgmmaTile together(int teams, int row_blocks, int columns) {
  WgmmaTile tile;
  tile.teams = teams;
  tile.row_blocks = row_blocks;
  tile.columns = columns;
  tile.stages = 3;
  return tile;
}
WgmmaTile in_turns(int row_blocks, int columns) {
  WgmmaTile tile = together(2, row_blocks, columns);
  tile.turns = true;
  return tile;
}
WgmmaTile with_weights_kept(WgmmaTile tile) {
  tile.resident = true;
  return tile;
}

// Several tiles a block, rows and columns beyond the end, more and fewer stages than a tile has steps.
TEST(EmulatedProducts, OfTeamsTogetherAreRight) {
  const Convolution some = product_of(ComputeType::f16, 333, 200, 136);
  expect_right({{some, together(1, 1, 64)},
                {some, together(2, 1, 96)},
                {some, together(1, 2, 64)},
                {some, with_weights_kept(together(2, 1, 64)), 4},
                {gelu_of(200, 72, 250), together(2, 2, 64), 2}});
}

TEST(EmulatedProducts, OfTeamsInTurnsAreRight) {
  const Convolution some = product_of(ComputeType::f16, 333, 200, 136);
  WgmmaTile shallow = in_turns(1, 64), deep = in_turns(1, 64);
  shallow.stages = 2;
  deep.stages = 7;
  expect_right({{some, in_turns(1, 64)},
                {some, in_turns(2, 128)},
                {some, shallow, 2},
                {some, deep, 2},
                {some, with_weights_kept(in_turns(1, 64)), 4},
                {gelu_of(200, 72, 250), in_turns(2, 64), 1},
                {gelu_of(150, 520, 250), in_turns(1, 256), 2}});
}

// One tile, so that a team has none; blocks without any.
TEST(EmulatedProducts, AreRightWhereSomeHaveNothingToDo) {
  const Convolution little = product_of(ComputeType::f16, 50, 64, 40);
  const Convolution some = product_of(ComputeType::f16, 333, 200, 136);
  expect_right({{little, in_turns(1, 64)}, {some, in_turns(1, 64), 1000, 5}, {some, together(2, 1, 96), 1000, 4}});
}

TEST(EmulatedProducts, AreRightInEveryType) {
  std::vector<Case> cases;
  for (const ComputeType compute : {ComputeType::tf32, ComputeType::bf16, ComputeType::i8, ComputeType::f8}) {
    const Convolution some = product_of(compute, 200, 208, 136);
    cases.push_back({some, in_turns(1, 64)});
  }
  Convolution bytes = product_of(ComputeType::i8, 200, 208, 136);
  bytes.source = Element::u8;
  cases.push_back({bytes, in_turns(2, 64)});
  expect_right(cases);
}

// Taps beside the picture, strides, steps that are narrower than 128 bytes, two of them a stage.
TEST(EmulatedProducts, OfConvolutionsAreRight) {
  Convolution padded = test_convolution(ComputeType::f16, {.size = 9, .in = 40, .out = 72, .kernel = 3});
  padded.batch = 3;
  const Convolution strided = test_convolution(ComputeType::f16, {.size = 13, .in = 32, .out = 40, .kernel = 3, .stride = 2});
  WgmmaTile narrow = in_turns(1, 48), pair = in_turns(1, 48);
  narrow.step_bytes = pair.step_bytes = 32;
  pair.stage_steps = 2;
  WgmmaTile half = in_turns(1, 80);
  half.step_bytes = 64;
  expect_right({{padded, in_turns(1, 80)}, {padded, half, 2}, {padded, together(1, 1, 80), 2}, {strided, narrow, 1}, {strided, pair, 1}});
}

// A stage that one warp never frees.
TEST(EmulatedProducts, EndWhereEveryoneWaits) {
  const Convolution some = product_of(ComputeType::f16, 333, 200, 136);
  const auto wrong = run_all({{some, in_turns(1, 64)}}, [](std::string& text) { replace_once(text, "4 * tile_teams", "5"); });
  EXPECT_EQ(wrong.at(0), "every thread waits for what will not come");
}

// A barrier's parity only separates one phase from the next: a team that comes long before its tile's stages takes others for them.
TEST(EmulatedProducts, AreWrongWhereATeamDoesNotAwaitItsTurn) {
  const Convolution some = product_of(ComputeType::f16, 333, 200, 136);
  const auto wrong =
      run_all({{some, in_turns(1, 64)}}, [](std::string& text) { replace_once(text, "wait_for(turn_at(base), (index - 1) & 1);", ""); });
  EXPECT_NE(wrong.at(0), "");
}

// A stage that is freed while products still read it.
TEST(EmulatedProducts, AreWrongWhereAStageIsFreedTooSoon) {
  const Convolution some = product_of(ComputeType::f16, 333, 520, 136);
  const auto wrong = run_all({{some, in_turns(1, 64), 2}}, [](std::string& text) {
    replace_once(text, "wait_for_products<1>();\n      if (k > 0) release(base, (position - 1) % stages, lane);",
                 "release(base, position % stages, lane);");
    replace_once(text, "wait_for_products<0>();\n    release(base, (position - 1) % stages, lane);", "wait_for_products<0>();");
  });
  EXPECT_NE(wrong.at(0), "");
}

}  // namespace
}  // namespace deepgap::gpu
