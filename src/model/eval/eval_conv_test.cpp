#include "model/eval/kernels.h"
#include "model/eval/parallel.h"
#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TEST(EvalConv, HandComputed3x3) {
  // 3x3 picture 0..8, all-ones 2x2 kernel: sums of squares of four.
  const Tensor y = TestNode{"Conv"}.run({counting({1, 1, 3, 3}), floats({1, 1, 2, 2}, {1, 1, 1, 1})});
  EXPECT_EQ(y.shape, (Shape{1, 1, 2, 2}));
  EXPECT_EQ(list_floats(y), (Floats{8, 12, 20, 24}));
}

TEST(EvalConv, IsACorrelationAndAddsTheBias) {
  // The kernel is not turned around: y = 1*a + 10*b.
  const Tensor y = TestNode{"Conv"}.run({floats({1, 1, 1, 3}, {1, 2, 3}), floats({1, 1, 1, 2}, {1, 10}), floats({1}, {0.5})});
  EXPECT_EQ(list_floats(y), (Floats{21.5, 32.5}));
}

TEST(EvalConv, AsymmetricPadsAndStride) {
  // TensorFlow's padding of a stride-2 3x3 on 4 pixels: none before, one after.
  const TestNode node{"Conv", {{"pads", Ints{0, 0, 1, 1}}, {"strides", Ints{2, 2}}}};
  const Tensor y = node.run({counting({1, 1, 4, 4}), floats({1, 1, 3, 3}, Floats(9, 1))});
  EXPECT_EQ(list_floats(y), (Floats{45, 39, 66, 50}));
  const Tensor same = TestNode{"Conv", {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}}.run(
      {counting({1, 1, 4, 4}), floats({1, 1, 3, 3}, Floats(9, 1))});
  EXPECT_EQ(list_floats(same), list_floats(y));
  const Tensor lower = TestNode{"Conv", {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2}}}}.run(
      {counting({1, 1, 4, 4}), floats({1, 1, 3, 3}, Floats(9, 1))});
  EXPECT_EQ(list_floats(lower), (Floats{10, 24, 51, 90}));
}

TEST(EvalConv, OneDimension) {
  const Tensor y = TestNode{"Conv", {{"dilations", Ints{2}}}}.run({floats({1, 1, 4}, {1, 2, 3, 4}), floats({1, 1, 2}, {1, 10})});
  EXPECT_EQ(y.shape, (Shape{1, 1, 2}));
  EXPECT_EQ(list_floats(y), (Floats{31, 42}));
}

TEST(EvalConv, RefusesWhatDoesNotFit) {
  EXPECT_THROW(TestNode{"Conv"}.run({counting({1, 3, 3, 3}), counting({2, 2, 1, 1})}), Error);
  EXPECT_THROW(TestNode{"Conv"}.run({counting({1, 1, 2, 2}), counting({1, 1, 3, 3})}), Error);
  EXPECT_THROW(TestNode{"Conv"}.run({counting({1, 1, 1, 3, 3, 3}), counting({1, 1, 1, 1, 1, 1})}), Error);
  EXPECT_THROW((TestNode{"Conv", {{"strides", Ints{0, 1}}}}.run({counting({1, 1, 2, 2}), counting({1, 1, 1, 1})})), Error);
}

struct Case {
  int64_t batch, channels, height, width, outputs, groups, kernel_rows, kernel_columns;
  Ints strides, dilations, pads;
};

// Small whole numbers, so that any order of additions is exact.
Tensor small_numbers(Shape shape, int seed) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  uint32_t state = static_cast<uint32_t>(seed);
  for (float& value : writable<float>(tensor))
    value = static_cast<float>(static_cast<int>((state = state * 1664525u + 1013904223u) >> 29) - 3);
  return tensor;
}

// The definition, with seven loops.
Floats convolution(const Case& c, const Tensor& x, const Tensor& w, Shape shape) {
  Floats y;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t m = 0; m < shape[1]; ++m)
      for (int64_t row = 0; row < shape[2]; ++row)
        for (int64_t column = 0; column < shape[3]; ++column) {
          double sum = 0;
          const int64_t each = c.channels / c.groups;
          for (int64_t k = 0; k < each; ++k)
            for (int64_t i = 0; i < c.kernel_rows; ++i)
              for (int64_t j = 0; j < c.kernel_columns; ++j) {
                const int64_t in_row = row * c.strides[0] + i * c.dilations[0] - c.pads[0];
                const int64_t in_column = column * c.strides[1] + j * c.dilations[1] - c.pads[1];
                if (in_row < 0 || in_row >= c.height || in_column < 0 || in_column >= c.width) continue;
                const int64_t channel = m / (c.outputs / c.groups) * each + k;
                sum += x.as<float>()[((n * c.channels + channel) * c.height + in_row) * c.width + in_column] *
                       w.as<float>()[((m * each + k) * c.kernel_rows + i) * c.kernel_columns + j];
              }
          y.push_back(static_cast<float>(sum));
        }
  return y;
}

TEST(EvalConv, AgreesWithTheDefinition) {
  const Case cases[] = {
      {1, 1, 1, 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},    {2, 3, 7, 5, 13, 1, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {3, 8, 9, 9, 8, 8, 3, 3, {2, 2}, {1, 1}, {0, 0, 1, 1}},    {1, 6, 11, 13, 9, 3, 5, 3, {3, 2}, {1, 2}, {4, 0, 1, 3}},
      {2, 16, 6, 6, 40, 2, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},  {2, 5, 8, 8, 7, 1, 1, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {1, 3, 23, 31, 16, 1, 7, 7, {2, 2}, {1, 1}, {3, 3, 3, 3}}, {1, 70, 5, 5, 30, 1, 3, 3, {1, 1}, {2, 2}, {2, 2, 2, 2}},
      {1, 4, 6, 6, 8, 4, 3, 3, {1, 1}, {3, 1}, {3, 5, 3, 5}},    {5, 2, 3, 3, 4, 1, 2, 2, {1, 1}, {1, 1}, {1, 0, 0, 1}},
      {1, 2, 2, 2, 4, 1, 1, 1, {1, 1}, {1, 1}, {2, 2, 2, 2}},    {1, 40, 9, 40, 12, 1, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}}};
  int seed = 1;
  for (const Case& c : cases) {
    const Tensor x = small_numbers({c.batch, c.channels, c.height, c.width}, seed++);
    const Tensor w = small_numbers({c.outputs, c.channels / c.groups, c.kernel_rows, c.kernel_columns}, seed++);
    const TestNode node{"Conv", {{"strides", c.strides}, {"dilations", c.dilations}, {"pads", c.pads}, {"group", c.groups}}};
    for (size_t kernels = 0; kernels < supported_kernels().size(); ++kernels) {
      choose_kernels(kernels);
      const Tensor y = node.run({x, w});
      EXPECT_EQ(list_floats(y), convolution(c, x, w, y.shape)) << "case " << seed / 2 << ", kernels " << supported_kernels()[kernels].name;
    }
    choose_kernels(0);
  }
}

// Values whose sums round at every step: any other order or an unfused multiplication would show.
Tensor rough_numbers(Shape shape, uint32_t state) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  for (float& value : writable<float>(tensor)) value = std::sin(static_cast<float>(state = state * 1664525u + 1013904223u));
  return tensor;
}

TEST(EvalConv, SameBitsFromEveryInstructionSetAndThreadCount) {
  for (const int64_t groups : {1, 24}) {
    const Tensor x = rough_numbers({2, 24, 20, 20}, 1), w = rough_numbers({48, 24 / groups, 3, 3}, 2), b = rough_numbers({48}, 3);
    const TestNode node{"Conv", {{"pads", Ints{1, 1, 1, 1}}, {"group", groups}}};
    const Floats expected = list_floats(node.run({x, w, b}));
    for (size_t kernels = 0; kernels < supported_kernels().size(); ++kernels) {
      for (int threads : {1, 3}) {
        choose_kernels(kernels);
        set_evaluator_threads(threads);
        EXPECT_EQ(list_floats(node.run({x, w, b})), expected) << supported_kernels()[kernels].name << " " << threads;
      }
    }
    choose_kernels(0);
    set_evaluator_threads(0);
  }
}

TEST(EvalConv, SumsAreFusedAndInOrder) {
  const Tensor x = rough_numbers({1, 300, 1, 1}, 4), w = rough_numbers({4, 300, 1, 1}, 5);
  const Tensor y = TestNode{"Conv"}.run({x, w});
  for (int m = 0; m < 4; ++m) {
    float sum = 0;
    for (int k = 0; k < 300; ++k) sum = std::fma(w.as<float>()[m * 300 + k], x.as<float>()[k], sum);
    EXPECT_EQ(y.as<float>()[m], sum);
  }
}

TEST(EvalConv, EveryKernelIsFused) {
  // (1 + 2^-12)^2 - 1 needs more bits than a product rounded first would keep.
  const float a = 1 + 0x1p-12f;
  for (const Kernels& kernels : supported_kernels()) {
    std::vector<float> row(40, -1), x(120, a);
    for (int64_t stride : {1, 3}) {
      std::ranges::fill(row, -1.0f);
      kernels.multiply_row(a, x.data(), stride, 40, row.data());
      for (float value : row) EXPECT_EQ(value, 0x1p-11f + 0x1p-24f) << kernels.name;
    }
    std::vector<float> left(kernels.tile_rows, a), right(kernels.tile_columns, a), tile(kernels.tile_rows * kernels.tile_columns, -1);
    kernels.multiply_tile(left.data(), right.data(), 1, tile.data());
    for (float value : tile) EXPECT_EQ(value, 0x1p-11f + 0x1p-24f) << kernels.name;
  }
}

TEST(EvalConv, ThreeDimensions) {
  const TestNode node{"Conv", {{"pads", Ints{1, 0, 0, 0, 0, 0}}, {"strides", Ints{1, 1, 2}}}};
  const Tensor x = counting({1, 1, 2, 1, 3});              // [0,1,2] and [3,4,5]
  const Tensor weight = floats({1, 1, 2, 1, 1}, {1, 10});  // the slice before, and the slice itself
  const Tensor y = node.run({x, weight});
  EXPECT_EQ(y.shape, (Shape{1, 1, 2, 1, 2}));
  EXPECT_EQ(list_floats(y), (std::vector<float>{0, 20, 30, 52}));
}

TEST(EvalConv, ManyOutputsInThreeDimensionsAreTheSame) {
  // Five equal outputs take the product of matrices, one takes the rows.
  const TestNode node{"Conv", {{"pads", Ints{1, 1, 1, 0, 1, 1}}, {"dilations", Ints{1, 2, 1}}}};
  const Tensor x = counting({2, 2, 3, 4, 5}), one = counting({1, 2, 2, 2, 3});
  std::vector<float> repeated;
  for (int i = 0; i < 5; ++i) repeated.insert(repeated.end(), one.as<float>().begin(), one.as<float>().end());
  const Tensor single = node.run({x, one}), five = node.run({x, floats({5, 2, 2, 2, 3}, repeated)});
  const auto plane = static_cast<size_t>(element_count(single.shape)) / 2;
  for (size_t image = 0; image < 2; ++image)
    for (size_t output = 0; output < 5; ++output)
      for (size_t i = 0; i < plane; ++i)
        ASSERT_EQ(five.as<float>()[(image * 5 + output) * plane + i], single.as<float>()[image * plane + i]);
}

}  // namespace
}  // namespace deepgap
