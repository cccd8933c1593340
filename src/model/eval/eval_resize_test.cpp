#include "model/eval/half.h"
#include "model/eval/test_node.h"
#include "model/resampling.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

using Floats = std::vector<float>;
using testing::ElementsAre;
using Texts = std::map<std::string, std::string>;

TestNode resize_node(const Texts& texts, int opset = 19) {
  TestNode node{"Resize", {}, opset};
  for (const auto& [name, text] : texts) node.attributes[name] = text;
  return node;
}

// A row 1 2 3 .. to another length, or by a scale.
Floats by_size(const Texts& texts, int64_t in, int64_t out) {
  Floats row;
  for (int64_t i = 1; i <= in; ++i) row.push_back(static_cast<float>(i));
  return list_floats(resize_node(texts).run({floats({in}, row), Tensor{}, Tensor{}, longs({1}, {out})}));
}
Floats by_scale(const Texts& texts, int64_t in, float scale, int opset = 19) {
  Floats row;
  for (int64_t i = 1; i <= in; ++i) row.push_back(static_cast<float>(i));
  const Tensor x = floats({in}, row), scales = floats({1}, {scale});
  return list_floats(resize_node(texts, opset).run(opset < 11 ? std::vector{x, scales} : std::vector{x, Tensor{}, scales}));
}

// Expected values: the examples of ONNX's Resize, and by hand.
TEST(EvalResize, Nearest) {
  const std::string mode = "coordinate_transformation_mode";
  EXPECT_EQ(by_scale({}, 2, 2), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(by_size({{"nearest_mode", "floor"}, {mode, "asymmetric"}}, 3, 5), (Floats{1, 1, 2, 2, 3}));
  EXPECT_EQ(by_size({{"nearest_mode", "ceil"}, {mode, "asymmetric"}}, 3, 5), (Floats{1, 2, 3, 3, 3}));
  EXPECT_EQ(by_size({{"nearest_mode", "round_prefer_ceil"}, {mode, "asymmetric"}}, 2, 4), (Floats{1, 2, 2, 2}));
  EXPECT_EQ(by_size({{"nearest_mode", "round_prefer_floor"}, {mode, "asymmetric"}}, 2, 4), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(by_size({{mode, "align_corners"}}, 3, 5), (Floats{1, 1, 2, 2, 3}));
  EXPECT_EQ(by_size({{mode, "tf_half_pixel_for_nn"}, {"nearest_mode", "floor"}}, 4, 2), (Floats{2, 4}));
}

// Half-way in numbers, if not in floats: 7 to 2 reads 3.4999998 there, and 20 to 6 14.499999 (onnxruntime issue 28291).
TEST(EvalResize, HalfWayButForRounding) {
  const std::string mode = "coordinate_transformation_mode";
  EXPECT_EQ(by_size({{"nearest_mode", "round_prefer_ceil"}, {mode, "asymmetric"}}, 7, 2), (Floats{1, 5}));
  EXPECT_EQ(by_size({{"nearest_mode", "round_prefer_ceil"}}, 20, 6), (Floats{2, 6, 9, 12, 16, 19}));
  EXPECT_EQ(by_size({{"nearest_mode", "round_prefer_floor"}, {mode, "asymmetric"}}, 7, 2), (Floats{1, 4}));
}

TEST(EvalResize, BeforeOpset11) {
  EXPECT_EQ(by_scale({}, 2, 2, 10), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(by_scale({}, 4, 0.6f, 10), (Floats{1, 3}));  // where it shrinks the next one up
  EXPECT_EQ(by_scale({{"mode", "linear"}}, 2, 2, 10), (Floats{1, 1.5, 2, 2}));
  const TestNode upsample{"Upsample", {{"scales", Floats{1, 3}}}, 7};
  EXPECT_EQ(list_floats(upsample.run({floats({1, 2}, {1, 2})})), (Floats{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(list_floats(TestNode{"Upsample", {}, 9}.run({floats({2}, {1, 2}), floats({1}, {2})})), (Floats{1, 1, 2, 2}));
}

TEST(EvalResize, Linear) {
  const Texts half_pixel{{"mode", "linear"}};
  EXPECT_EQ(by_scale(half_pixel, 2, 2), (Floats{1, 1.25, 1.75, 2}));
  EXPECT_EQ(by_scale({{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}}, 2, 1.5f), (Floats{1, 1.5, 2}));
  EXPECT_EQ(by_size({{"mode", "linear"}, {"coordinate_transformation_mode", "pytorch_half_pixel"}}, 3, 1), (Floats{1}));
  EXPECT_EQ(by_size(half_pixel, 3, 1), (Floats{2}));
  const Tensor y = resize_node(half_pixel).run({floats({1, 1, 2, 2}, {1, 2, 3, 4}), Tensor{}, floats({4}, {1, 1, 2, 2})});
  EXPECT_EQ(list_floats(y), (Floats{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}));
}

TEST(EvalResize, Cubic) {
  const auto expect_near = [](const Floats& actual, const Floats& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5) << i;
  };
  // At an offset of 1/4 the weights are -0.10546875, 0.87890625, 0.26171875 and -0.03515625.
  expect_near(by_scale({{"mode", "cubic"}}, 4, 2),
              {0.8945312f, 1.1914062f, 1.6679688f, 2.296875f, 2.703125f, 3.3320312f, 3.8085938f, 4.1054688f});
  TestNode inside = resize_node({{"mode", "cubic"}});
  inside.attributes["exclude_outside"] = int64_t{1};
  inside.attributes["cubic_coeff_a"] = -0.5f;
  expect_near(list_floats(inside.run({floats({2}, {1, 2}), Tensor{}, floats({1}, {2})})), {0.9117647f, 1.2071429f, 1.7928571f, 2.0882353f});
}

TEST(EvalResize, CropAndExtrapolation) {
  TestNode node = resize_node({{"mode", "linear"}, {"coordinate_transformation_mode", "tf_crop_and_resize"}});
  node.attributes["extrapolation_value"] = 10.0f;
  const Tensor x = floats({3}, {1, 2, 3});
  EXPECT_EQ(list_floats(node.run({x, floats({2}, {0, 1}), Tensor{}, longs({1}, {5})})), (Floats{1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(list_floats(node.run({x, floats({2}, {0.5f, 1.5f}), Tensor{}, longs({1}, {3})})), (Floats{2, 3, 10}));
  EXPECT_THROW(node.run({x, Tensor{}, Tensor{}, longs({1}, {5})}), Error);
}

TEST(EvalResize, AxesAndAspect) {
  TestNode node = resize_node({{"keep_aspect_ratio_policy", "not_larger"}});
  node.attributes["axes"] = Ints{-1, -2};
  EXPECT_EQ(node.run({counting({1, 2, 4}), Tensor{}, Tensor{}, longs({2}, {6, 6})}).shape, (Shape{1, 3, 6}));
  node.attributes["keep_aspect_ratio_policy"] = std::string("not_smaller");
  EXPECT_EQ(node.run({counting({1, 2, 4}), Tensor{}, Tensor{}, longs({2}, {6, 6})}).shape, (Shape{1, 6, 12}));
  node.attributes["keep_aspect_ratio_policy"] = std::string("stretch");
  EXPECT_EQ(node.run({counting({1, 2, 4}), Tensor{}, Tensor{}, longs({2}, {6, 6})}).shape, (Shape{1, 6, 6}));
}

// In float32, rounded once.
TEST(EvalResize, Float16) {
  const Tensor x = tensor_of<Half>(DataType::f16, {2}, {to_half(1), to_half(2)});
  const Tensor y = resize_node({{"mode", "linear"}}).run({x, Tensor{}, floats({1}, {2})});
  ASSERT_EQ(y.type, DataType::f16);
  EXPECT_EQ(to_float(y.as<Half>()[1]), 1.25f);
}

TEST(EvalResize, WhatIsRefused) {
  TestNode node = resize_node({{"mode", "linear"}});
  EXPECT_THROW(node.run({longs({2}, {1, 2}), Tensor{}, floats({1}, {2})}), Error);
  EXPECT_THROW(node.run({floats({2}, {1, 2}), Tensor{}, floats({2}, {2, 1})}), Error);
  EXPECT_THROW(node.run({floats({2}, {1, 2}), Tensor{}, floats({1}, {0})}), Error);
  EXPECT_THROW(node.run({floats({0}, {}), Tensor{}, Tensor{}, longs({1}, {2})}), Error);
  EXPECT_EQ(node.run({floats({0}, {}), Tensor{}, floats({1}, {2})}).shape, (Shape{0}));
}

// A kernel twice as wide where the axis is halved: half-way between 0 and 1 it takes 1/8, 3/8, 3/8, 1/8 of the four around, the edge
// repeated.
TEST(EvalResize, Antialias) {
  TestNode node = resize_node({{"mode", "linear"}});
  node.attributes["antialias"] = int64_t{1};
  EXPECT_THAT(list_floats(node.run({floats({4}, {0, 8, 16, 80}), Tensor{}, floats({1}, {0.5f})})), ElementsAre(5, 47));
  // Where it grows, nothing changes.
  EXPECT_THAT(list_floats(node.run({floats({2}, {1, 2}), Tensor{}, floats({1}, {2})})), ElementsAre(1, 1.25f, 1.75f, 2));
}

// A file may say what no size can be.
TEST(EvalResize, AxesTwiceAndSizesBeyondCounting) {
  TestNode twice = resize_node({{"mode", "nearest"}});
  twice.attributes["axes"] = Ints{0, -2};
  twice.opset = 18;
  EXPECT_THROW(twice.run({floats({2, 2}, {1, 2, 3, 4}), Tensor{}, floats({2}, {2, 2})}), Error);
  const TestNode node = resize_node({{"mode", "nearest"}});
  EXPECT_THROW(node.run({floats({2}, {1, 2}), Tensor{}, floats({1}, {1e30f})}), Error);
  EXPECT_EQ(scaled_size(4, 1e30f), INT64_MAX);
  // Positions far outside, infinite or no numbers read the edge.
  TestNode crop = resize_node({{"mode", "nearest"}, {"coordinate_transformation_mode", "tf_crop_and_resize"}});
  for (const float end : {1e30f, std::numeric_limits<float>::infinity()})
    EXPECT_EQ(crop.run({floats({2}, {1, 2}), floats({2}, {0, end}), Tensor{}, longs({1}, {3})}).shape, (Shape{3}));
}

}  // namespace
}  // namespace deepgap
