// A first convolution with its max-pool as one kernel, its text compiled for the host (hopper_words.h), beside both one by one.
#include "guarded_memory.h"
#include "hopper_cases.h"
#include "host_compiler.h"
#include "plain_convolution.h"

#include "engine/gpu/kernel_text.h"
#include "engine/gpu/test_kernels.h"
#include "stats/random_stream.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace deepgap::gpu {
namespace {

const Chip few{90, 2, 227 << 10};

struct Shape {
  int64_t height = 20, width = 20, channels = 64, kernel = 7, pad = 3, pool_pad = 1;
};

Convolution pooled(ComputeType compute, const Shape& shape) {
  Convolution p = test_convolution(compute, {.size = 16, .in = 3, .out = shape.channels, .kernel = shape.kernel, .stride = 2});
  p.in_pitch = 4;
  p.in_h = shape.height;
  p.in_w = shape.width;
  p.pad_top = p.pad_left = shape.pad;
  p.out_h = (p.in_h + 2 * shape.pad - shape.kernel) / 2 + 1;
  p.out_w = (p.in_w + 2 * shape.pad - shape.kernel) / 2 + 1;
  p.epilogue.steps = {EpilogueStep::clamped(-0.5F, INFINITY)};
  p.pool = MaxPool{shape.pool_pad, shape.pool_pad, (p.out_h + 2 * shape.pool_pad - 3) / 2 + 1, (p.out_w + 2 * shape.pool_pad - 3) / 2 + 1};
  return p;
}

// The convolution alone, then the largest of its windows.
double expected_at(const Convolution& p, const std::byte* convolved, int64_t image, int64_t y, int64_t x, int64_t channel) {
  double largest = -INFINITY;
  for (int64_t row = 2 * y - p.pool->pad_top; row < 2 * y - p.pool->pad_top + 3; ++row)
    for (int64_t column = 2 * x - p.pool->pad_left; column < 2 * x - p.pool->pad_left + 3; ++column)
      if (row >= 0 && row < p.out_h && column >= 0 && column < p.out_w)
        largest = std::max(largest,
                           number_at(convolved, p.epilogue.target, ((image * p.out_h + row) * p.out_w + column) * p.out_pitch + channel));
  return largest;
}

std::string wrong_result(const Convolution& p, const std::byte* convolved, const std::byte* target) {
  for (int64_t i = 0; i < p.batch * p.pool->out_h * p.pool->out_w * p.out_pitch; ++i) {
    const int64_t channel = i % p.out_pitch, x = i / p.out_pitch % p.pool->out_w, row = i / p.out_pitch / p.pool->out_w;
    if (channel >= p.out_channels) continue;
    const double found = number_at(target, p.epilogue.target, i);
    const double right = expected_at(p, convolved, row / p.pool->out_h, row % p.pool->out_h, x, channel);
    if (!(std::fabs(found - right) <= allowed(p.epilogue.target, right)))
      return fmt::format("{} instead of {} in row {}, column {}, channel {}", found, right, row, x, channel);
  }
  return {};
}

std::string host_text_of(const Launch& launch, ComputeType compute, Element source, const std::string& number) {
  std::string text = without_device_words(launch.source);
  cut_all_functions(text, "float unit_of");
  replace_once(text, "extern \"C\" __global__", "static");
  return fmt::format(
      "namespace n_{0} {{\ntemplate <typename S, int N> static void product_of_registers(S (&d)[N], const unsigned (&a)[4], u64 b, int "
      "add) "
      "{{ play_product_of_registers<{1}, {2}>(d, a, b, add); }}\n{3}}}\n"
      "extern \"C\" const char* run_{0}(const unsigned* grid, void** p) {{ return run_blocks(grid, {4}, [&] {{ n_{0}::pooled_stem((const "
      "unsigned char*)p[0], (const unsigned char*)p[1], (const float*)p[2], (unsigned char*)p[3]); }}); }}\n",
      number, type_text(source), compute == ComputeType::i8 ? "I8" : type_text(source), text, launch.block[0]);
}

std::string computed(const Convolution& p, const ConvolutionVariant& variant, Run run) {
  RandomStream random(5, "pooled");
  const int64_t in = p.batch * p.in_h * p.in_w * p.in_pitch, out = p.batch * p.out_h * p.out_w * p.out_pitch;
  const size_t size = byte_size(p.epilogue.target);
  GuardedMemory source(static_cast<size_t>(in) * byte_size(p.source)), packed(variant.packed_bytes),
      convolved(static_cast<size_t>(out) * size), target(static_cast<size_t>(p.batch * p.pool->out_h * p.pool->out_w * p.out_pitch) * size);
  fill(source.begin(), p.source, in, random);
  const Tensor weights = weights_of(p, random);
  std::vector<float> scale_bias = scale_bias_of(p, random);
  const std::vector<std::byte> bytes = variant.pack(p, variant, weights);
  std::memcpy(packed.begin(), bytes.data(), bytes.size());
  std::array<void*, 4> arguments{source.begin(), packed.begin(), scale_bias.data(), target.begin()};
  const Launch& launch = variant.launches.at(0);
  if (const char* wrong = run(launch.grid.data(), arguments.data()); wrong != nullptr) return wrong;
  convolve(
      p, weights, scale_bias, [&](float v, float) { return std::max(v, p.epilogue.steps[0].low); }, source.begin(), nullptr,
      convolved.begin());
  return wrong_result(p, convolved.begin(), target.begin());
}

// The first and the last, and with DEEPGAP_LONG_TESTS all.
std::vector<ConvolutionVariant> some_of(std::vector<ConvolutionVariant> all) {
  if (std::getenv("DEEPGAP_LONG_TESTS") == nullptr && all.size() > 2) all.erase(all.begin() + 1, all.end() - 1);
  return all;
}

void expect_right(const std::vector<Convolution>& problems) {
  std::string text;
  std::vector<std::pair<Convolution, ConvolutionVariant>> all;
  for (const Convolution& problem : problems)
    for (ConvolutionVariant& variant : some_of(pooled_stem_variants(problem, few))) {
      text += host_text_of(variant.launches.at(0), problem.compute, problem.source, std::to_string(all.size()));
      all.emplace_back(problem, std::move(variant));
    }
  ASSERT_GE(all.size(), problems.size());
  const HostLibrary library(hopper_host(), text);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(computed(all[i].first, all[i].second, library.function<Run>(fmt::format("run_{}", i))), "")
        << all[i].first.key() << " by " << all[i].second.name;
}

TEST(EmulatedPooledStem, OfIntegersIsRight) {
  Convolution unsigned_source = pooled(ComputeType::i8, {.height = 18, .width = 22});
  unsigned_source.source = Element::u8;
  unsigned_source.source_zero = 114;
  expect_right({pooled(ComputeType::i8, {}), unsigned_source});
}

TEST(EmulatedPooledStem, OfHalvesIsRight) { expect_right({pooled(ComputeType::f16, {}), pooled(ComputeType::bf16, {.width = 24})}); }

// Other kernels and padding, widths that no piece of 16 bytes divides, more columns than a warpgroup makes at once.
TEST(EmulatedPooledStem, OfOtherShapesIsRight) {
  expect_right({pooled(ComputeType::i8, {.height = 9, .width = 15, .channels = 24, .kernel = 3, .pad = 1}),
                pooled(ComputeType::f16, {.height = 11, .width = 13, .channels = 32, .kernel = 3, .pad = 0, .pool_pad = 0}),
                pooled(ComputeType::i8, {.height = 9, .width = 260, .channels = 16, .kernel = 5, .pad = 2})});
}

}  // namespace
}  // namespace deepgap::gpu
