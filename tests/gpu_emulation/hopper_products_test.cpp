// The kernels of the family `wgmma`, their text compiled for the host (hopper_words.h): who waits for whom, what is read and written.
#include "guarded_memory.h"
#include "hopper_words.h"
#include "host_compiler.h"
#include "plain_convolution.h"

#include "engine/gpu/float8.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/test_kernels.h"
#include "engine/gpu/wgmma.h"
#include "model/eval/half.h"
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

void replace(std::string& text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  ASSERT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), with);
}

// A namespace with the kernel and what runs it, run_NUMBER.
std::string host_text(const Case& one, const Launch& launch, size_t number) {
  std::string text = without_device_words(launch.source);
  if (text.find("float unit_of(") != std::string::npos) cut_function(text, "float unit_of");
  replace(text, "extern \"C\" __global__", "static");
  const std::string_view a = type_text(one.problem.source), b = one.problem.compute == ComputeType::i8 ? std::string_view("I8") : a;
  const std::string residual = one.problem.epilogue.has_residual() ? ", (const unsigned char*)p[4]" : "";
  return fmt::format(
             "namespace n{} {{\ntemplate <typename S, int N> static void product(S (&d)[N], u64 a, u64 b, int add) {{ "
             "play_product<{}, {}>(d, a, b, add); }}\n",
             number, a, b) +
         text +
         fmt::format(
             "}}\nextern \"C\" const char* run_{0}(const unsigned* grid, void** p) {{ return run_blocks(grid, {1}, [&] {{ "
             "n{0}::{2}(*(Map*)p[0], (const unsigned char*)p[1], (const float*)p[2], (unsigned char*)p[3]{3}); }}); }}\n",
             number, launch.block[0], launch.entry, residual);
}

HostMap map_of(const Argument& argument, const std::byte* from) {
  HostMap made{.from = from};
  const auto take = [&](const auto& map) {
    made.element_bytes = static_cast<int>(byte_size(map.element));
    made.row_bytes = map.swizzle_bytes;
    for (size_t i = 0; i < map.sizes.size(); ++i) {
      made.sizes[i] = static_cast<long long>(map.sizes[i]);
      if (i > 0) made.steps[i] = static_cast<long long>(map.strides[i - 1]);
    }
  };
  if (const auto* rows = std::get_if<TensorMapArgument>(&argument)) {
    take(*rows);
    for (size_t i = 0; i < rows->box.size(); ++i) made.box[i] = static_cast<int>(rows->box[i]);
    return made;
  }
  const auto& pixels = std::get<Im2colMapArgument>(argument);
  take(pixels);
  made.box = {static_cast<int>(pixels.channels), static_cast<int>(pixels.pixels), 1, 1};
  for (size_t i = 0; i < 2; ++i) {
    made.lower[i] = pixels.lower[i];
    made.upper[i] = pixels.upper[i];
    made.strides[i] = static_cast<int>(pixels.steps[i + 1]);
  }
  return made;
}

// Eighths between -1 and 1, or any bytes: products and their sums are exact in every type.
void fill(std::byte* at, Element element, int64_t count, RandomStream& random) {
  const auto put = [&](int64_t i, auto number) { std::memcpy(at + static_cast<size_t>(i) * sizeof number, &number, sizeof number); };
  for (int64_t i = 0; i < count; ++i) {
    const auto eighth = static_cast<float>(std::floor(random.uniform() * 17) - 8) / 8;
    switch (element) {
      case Element::f16:
        put(i, to_half(eighth).bits);
        break;
      case Element::bf16:
        put(i, to_bfloat16(eighth).bits);
        break;
      case Element::e4m3:
        put(i, to_e4m3(eighth));
        break;
      case Element::f32:
        put(i, eighth);
        break;
      default:
        put(i, static_cast<uint8_t>(random.uniform() * 256));
    }
  }
}

Tensor weights_of(const Convolution& p, RandomStream& random) {
  const bool bytes = p.compute == ComputeType::i8;
  Tensor weights = make_tensor(bytes ? DataType::i8 : DataType::f32, {p.out_channels, p.in_channels, p.kernel_h, p.kernel_w});
  const int64_t count = p.out_channels * p.in_channels * p.kernel_h * p.kernel_w;
  fill(writable<std::byte>(weights).data(), bytes ? Element::i8 : Element::f32, count, random);
  return weights;
}

// Sums of bytes become numbers of some quanta.
std::vector<float> scale_bias_of(const Convolution& p, RandomStream& random) {
  std::vector<float> values(2 * static_cast<size_t>(p.out_pitch), 0.0F);
  const double deviation = 73.0 * 73 * std::sqrt(static_cast<double>(p.in_channels * p.kernel_h * p.kernel_w));
  for (size_t i = 0; i < static_cast<size_t>(p.out_channels); ++i) {
    const auto unit = static_cast<float>(random.uniform());
    values[i] = p.compute == ComputeType::i8   ? static_cast<float>(15 * (0.5 + unit) / deviation)
                : p.compute == ComputeType::f8 ? unit
                                               : 1.0F;
    values[static_cast<size_t>(p.out_pitch) + i] = unit - 0.5F;
  }
  return values;
}

float ended(const Epilogue& epilogue, float v, float residual) {
  for (const EpilogueStep& step : epilogue.steps) {
    if (step.kind == EpilogueStep::Kind::add) v += residual;
    if (step.kind == EpilogueStep::Kind::clamp) v = std::clamp(v, step.low, step.high);
    if (step.kind == EpilogueStep::Kind::activation) v = 0.5F * v * (1 + std::erf(v * 0.70710678F));
  }
  return v;
}

// What an element may be wrong by.
double allowed(Element element, double right) {
  switch (element) {
    case Element::f16:
      return 1e-3 * std::max(1.0, std::fabs(right));
    case Element::bf16:
      return 8e-3 * std::max(1.0, std::fabs(right));
    case Element::e4m3:
      return 0.13 * std::max(0.1, std::fabs(right));
    case Element::f32:
      return 1e-5 * std::max(1.0, std::fabs(right));
    default:
      return 1;
  }
}

using Run = const char* (*)(const unsigned* grid, void** arguments);

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
    std::string own = host_text(one, variants.back().launches.at(0), variants.size() - 1);
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
  const auto wrong = run_all({{some, in_turns(1, 64)}}, [](std::string& text) { replace(text, "4 * tile_teams", "5"); });
  EXPECT_EQ(wrong.at(0), "every thread waits for what will not come");
}

// A barrier's parity tells one phase from the next alone: a team that comes long before its tile's stages takes others for them.
TEST(EmulatedProducts, AreWrongWhereATeamDoesNotAwaitItsTurn) {
  const Convolution some = product_of(ComputeType::f16, 333, 200, 136);
  const auto wrong =
      run_all({{some, in_turns(1, 64)}}, [](std::string& text) { replace(text, "wait_for(turn_at(base), (index - 1) & 1);", ""); });
  EXPECT_NE(wrong.at(0), "");
}

// A stage that is freed while products still read it.
TEST(EmulatedProducts, AreWrongWhereAStageIsFreedTooSoon) {
  const Convolution some = product_of(ComputeType::f16, 333, 520, 136);
  const auto wrong = run_all({{some, in_turns(1, 64), 2}}, [](std::string& text) {
    replace(text, "wait_for_products<1>();\n      if (k > 0) release(base, (position - 1) % stages, lane);",
            "release(base, position % stages, lane);");
    replace(text, "wait_for_products<0>();\n    release(base, (position - 1) % stages, lane);", "wait_for_products<0>();");
  });
  EXPECT_NE(wrong.at(0), "");
}

}  // namespace
}  // namespace deepgap::gpu
