// Attention's kernel for Hopper, its text compiled for the host (hopper_words.h): where it reads, multiplies and writes. Only a GPU can
// show that wgmma and TMA do what is emulated here.
#include "hopper_words.h"
#include "host_compiler.h"

#include "engine/gpu/attention.h"
#include "model/eval/half.h"
#include "stats/random_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace deepgap::gpu {
namespace {

// Rows of query, key and value side by side, all heads in a row, as one product wrote them.
struct Case {
  int64_t queries = 64, keys = 64, depth = 64, heads = 2, batch = 1;
  enum class Mask { none, of_key, of_both } mask = Mask::none;
  bool heads_apart = false;  // all rows of a head one behind another
};

AttentionLayout layout_of(const Case& one) {
  AttentionLayout layout;
  Attention& a = layout.attention;
  const int64_t row = 3 * one.heads * one.depth, rows = std::max(one.queries, one.keys);
  a.batch = one.batch, a.heads = one.heads, a.queries = one.queries, a.keys = one.keys, a.depth = a.columns = one.depth;
  a.scale = 1 / std::sqrt(static_cast<float>(one.depth));
  a.query.steps = {rows * row, one.depth, row, 1};
  a.key.steps = {rows * row, one.depth, 1, row};
  a.value.steps = {rows * row, one.depth, row, 1};
  a.result = {one.queries * one.heads * one.depth, one.depth, one.heads * one.depth, 1};
  layout.first = {0, one.heads * one.depth, 2 * one.heads * one.depth};
  if (one.heads_apart) {
    const int64_t own = 3 * one.depth, head = rows * own;
    a.query.steps = a.value.steps = {one.heads * head, head, own, 1};
    a.key.steps = {one.heads * head, head, 1, own};
    layout.first = {0, one.depth, 2 * one.depth};
  }
  if (one.mask == Case::Mask::of_key) a.mask = Attention::Operand{3, {one.keys, 0, 0, 1}};
  if (one.mask == Case::Mask::of_both) a.mask = Attention::Operand{3, {0, 0, one.keys, 1}};
  return layout;
}

std::string host_text(const Launch& launch, const AttentionLayout& layout, size_t arguments) {
  std::string text = without_device_words(launch.source);
  cut_function(text, "float power_of_two");
  std::string call = "*(Map*)p[0], *(Map*)p[1], *(Map*)p[2]";
  if (layout.attention.mask) call += ", (const float*)p[3]";
  return text + fmt::format(
                    "extern \"C\" const char* run(const unsigned* grid, void** p) {{ return run_blocks(grid, {}, [&] {{ {}({}, (unsigned "
                    "short*)p[{}]); }}); }}\n",
                    launch.block[0], launch.entry, call, arguments - 1);
}

struct Data {
  std::vector<float> numbers, mask;
  std::vector<uint16_t> halves, out;
};

Data data_of(const Case& one, const AttentionLayout& layout) {
  RandomStream random(7, "attention");
  Data data;
  const int64_t rows = std::max(one.queries, one.keys);
  for (int64_t i = 0; i < one.batch * rows * 3 * one.heads * one.depth; ++i) {
    data.halves.push_back(to_half(static_cast<float>(4 * random.uniform() - 2)).bits);
    data.numbers.push_back(to_float(Half{data.halves.back()}));
  }
  data.mask.resize(static_cast<size_t>(one.batch * one.queries * one.keys));
  for (float& m : data.mask) m = random.uniform() < 0.3 ? -3.4e38F : static_cast<float>(random.uniform());
  data.out.assign(static_cast<size_t>(one.batch * layout.attention.result[0]), 0x7e00);
  return data;
}

double expected(const AttentionLayout& layout, const Data& data, int64_t b, int64_t h, int64_t q, int64_t column) {
  const Attention& a = layout.attention;
  const auto at = [&](const Attention::Operand& operand, size_t which, int64_t row, int64_t col, bool turned) {
    const auto& s = operand.steps;
    const int64_t place = layout.first[which] + b * s[0] + h * s[1] + row * s[turned ? 3 : 2] + col * s[turned ? 2 : 3];
    return static_cast<double>(data.numbers[static_cast<size_t>(place)]);
  };
  std::vector<double> scores;
  double most = -1e300;
  for (int64_t k = 0; k < a.keys; ++k) {
    double sum = 0;
    for (int64_t d = 0; d < a.depth; ++d) sum += at(a.query, 0, q, d, false) * at(a.key, 1, k, d, true);
    sum *= a.scale;
    if (a.mask) sum += data.mask[static_cast<size_t>(b * a.mask->steps[0] + q * a.mask->steps[2] + k)];
    scores.push_back(sum);
    most = std::max(most, sum);
  }
  double all = 0, value = 0;
  for (int64_t k = 0; k < a.keys; ++k) {
    const double weight = std::exp(scores[static_cast<size_t>(k)] - most);
    all += weight;
    value += weight * at(a.value, 2, k, column, false);
  }
  return value / all;
}

HostMap map_of(const Argument& argument, const std::vector<uint16_t>& halves) {
  const auto& map = std::get<TensorMapArgument>(argument);
  HostMap made{.from = reinterpret_cast<const std::byte*>(halves.data()) + map.offset_bytes};
  for (size_t i = 0; i < 4; ++i) {
    made.sizes[i] = static_cast<long long>(map.sizes[i]);
    made.steps[i] = i == 0 ? 2 : static_cast<long long>(map.strides[i - 1]);
    made.box[i] = static_cast<int>(map.box[i]);
    if (i > 1) EXPECT_EQ(map.strides[i - 1] % map.strides[i - 2], 0U) << "as the driver asks";
  }
  return made;
}

void expect_right(const Case& one, const Chip& chip = {}) {
  SCOPED_TRACE(fmt::format("{} queries, {} keys, {} deep, mask {}", one.queries, one.keys, one.depth, static_cast<int>(one.mask)));
  const AttentionLayout layout = layout_of(one);
  Operand mask;
  mask.form.element = Element::f32;
  const auto launch =
      hopper_attention(layout, attention_mask_text(layout.attention, layout.attention.mask ? &mask : nullptr), "attention", chip);
  ASSERT_TRUE(launch);
  const HostLibrary library(hopper_host(), host_text(*launch, layout, launch->arguments.size()));
  const auto run = library.function<const char* (*)(const unsigned*, void**)>("run");
  Data data = data_of(one, layout);
  std::array<HostMap, 3> maps{map_of(launch->arguments[0], data.halves), map_of(launch->arguments[1], data.halves),
                              map_of(launch->arguments[2], data.halves)};
  std::vector<void*> arguments{&maps[0], &maps[1], &maps[2]};
  if (layout.attention.mask) arguments.push_back(data.mask.data());
  arguments.push_back(data.out.data());
  const char* wrong = run(launch->grid.data(), arguments.data());
  EXPECT_EQ(wrong, nullptr) << wrong;
  const auto& result = layout.attention.result;
  double worst = 0;
  for (int64_t b = 0; b < one.batch; ++b)
    for (int64_t h = 0; h < one.heads; ++h)
      for (int64_t q = 0; q < one.queries; q += 3)
        for (int64_t c = 0; c < one.depth; c += 5) {
          const auto place = static_cast<size_t>(b * result[0] + h * result[1] + q * result[2] + c);
          const double error = std::fabs(to_float(Half{data.out[place]}) - expected(layout, data, b, h, q, c));
          worst = std::isnan(error) ? 1e9 : std::max(worst, error);
        }
  EXPECT_LT(worst, 4e-3);
}

TEST(EmulatedHopperAttention, IsTheSoftmaxOfScoresTimesValues) {
  expect_right({.queries = 128, .keys = 128});
  expect_right({.queries = 100, .keys = 197, .batch = 2});
  expect_right({.queries = 1, .keys = 5});
  expect_right({.queries = 20, .keys = 30, .heads_apart = true});
  expect_right({.queries = 150, .keys = 70, .depth = 128, .heads = 1});
}

// More keys than there is room for: tiles take each other's places.
TEST(EmulatedHopperAttention, GoesRoundWhereKeysAreMany) {
  expect_right({.queries = 64, .keys = 700, .heads = 1});
  expect_right({.queries = 64, .keys = 500, .depth = 128, .heads = 1});
}

bool is_long() { return std::getenv("DEEPGAP_LONG_TESTS") != nullptr; }

// More heads than blocks: each block takes several, and brings the next while it computes.
TEST(EmulatedHopperAttention, TakesHeadsInTurns) {
  const Chip small{90, 1, 227 << 10};
  if (is_long()) expect_right({.queries = 128, .keys = 128, .heads = 4, .batch = 2}, small);
  expect_right({.queries = 128, .keys = 100, .heads = 3, .batch = 3, .mask = Case::Mask::of_key}, small);
  expect_right({.queries = 200, .keys = 60, .heads = 5}, small);
}

TEST(EmulatedHopperAttention, AddsMasks) {
  if (is_long()) expect_right({.queries = 64, .keys = 100, .mask = Case::Mask::of_key});
  expect_right({.queries = 70, .keys = 90, .mask = Case::Mask::of_both});
}

}  // namespace
}  // namespace deepgap::gpu
