#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

void expect_near(const Tensor& got, const std::vector<float>& want) { EXPECT_THAT(list_floats(got), Pointwise(FloatNear(1e-5f), want)); }

// Two windows of 1 x 2 over 1 x 3 pixels share the middle one.
TEST(EvalRegions, Col2Im) {
  const Tensor x = floats({1, 2, 2}, {1, 2, 10, 20});
  const Tensor y = TestNode{"Col2Im", {}, 18}.run({x, longs({2}, {1, 3}), longs({2}, {1, 2})});
  EXPECT_EQ(y.shape, (Shape{1, 1, 1, 3}));
  EXPECT_THAT(list_floats(y), ElementsAre(1, 12, 20));
  EXPECT_THROW((TestNode{"Col2Im", {}, 18}.run({x, longs({2}, {1, 4}), longs({2}, {1, 2})})), Error);
}

TEST(EvalRegions, MaxUnpool) {
  const TestNode node{"MaxUnpool", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, 11};
  const Tensor x = floats({1, 1, 1, 1}, {7}), place = longs({1, 1, 1, 1}, {3});
  EXPECT_THAT(list_floats(node.run({x, place})), ElementsAre(0, 0, 0, 7));
  EXPECT_THAT(list_floats(node.run({x, place, longs({4}, {1, 1, 2, 3})})), ElementsAre(0, 0, 0, 0, 7, 0));
  EXPECT_THROW(node.run({x, longs({1, 1, 1, 1}, {4})}), Error);
  EXPECT_THROW(node.run({x, place, longs({4}, {1, 1, 1, 1})}), Error);
}

// MaxPool says where its values stood, by rows and by columns.
TEST(EvalRegions, MaxPoolIndices) {
  const std::map<std::string, Attribute> windows{{"kernel_shape", Ints{1, 2}}, {"strides", Ints{1, 2}}};
  const Tensor x = floats({1, 1, 2, 4}, {1, 9, 3, 3, 5, 4, 7, 8});
  const auto by_rows = TestNode{"MaxPool", windows, 12, 2}.run_all({x});
  EXPECT_THAT(list_floats(by_rows[0]), ElementsAre(9, 3, 5, 8));
  EXPECT_EQ(list<int64_t>(by_rows[1]), (Ints{1, 2, 4, 7}));
  auto turned = windows;
  turned["storage_order"] = int64_t{1};
  EXPECT_EQ(list<int64_t>(TestNode{"MaxPool", turned, 12, 2}.run_all({x})[1]), (Ints{2, 4, 1, 7}));
}

TEST(EvalRegions, CenterCropPad) {
  const Tensor x = floats({5}, {1, 2, 3, 4, 5});
  EXPECT_THAT(list_floats(TestNode{"CenterCropPad", {}, 18}.run({x, longs({1}, {2})})), ElementsAre(2, 3));
  EXPECT_THAT(list_floats(TestNode{"CenterCropPad", {}, 18}.run({x, longs({1}, {8})})), ElementsAre(0, 1, 2, 3, 4, 5, 0, 0));
  EXPECT_THROW((TestNode{"CenterCropPad", {}, 18}.run({x, longs({2}, {8, 8})})), Error);
}

TEST(EvalRegions, Det) {
  EXPECT_THAT(list_floats(TestNode{"Det", {}, 11}.run({floats({2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0})})), ElementsAre(-2, -1));
  EXPECT_THAT(list_floats(TestNode{"Det", {}, 11}.run({floats({2, 2}, {1, 2, 2, 4})})), ElementsAre(0));
  EXPECT_THROW((TestNode{"Det", {}, 11}.run({floats({1, 2}, {1, 2})})), Error);
}

// A ramp: what is read is where it is read.
TEST(EvalRegions, RoiAlign) {
  const Tensor x = floats({1, 1, 2, 4}, {0, 1, 2, 3, 0, 1, 2, 3}), box = floats({1, 4}, {0.5f, 0, 2.5f, 1}), sample = longs({1}, {0});
  const auto node = [](const char* mode) {
    return TestNode{"RoiAlign",
                    {{"output_width", int64_t{2}}, {"sampling_ratio", int64_t{1}}, {"coordinate_transformation_mode", std::string(mode)}},
                    16};
  };
  expect_near(node("output_half_pixel").run({x, box, sample}), {1, 2});
  expect_near(node("half_pixel").run({x, box, sample}), {0.5f, 1.5f});
  EXPECT_THROW(node("half_pixel").run({x, box, longs({1}, {1})}), Error);
  EXPECT_THROW(node("half_pixel").run({x, floats({1, 4}, {0, 0, 1, std::numeric_limits<float>::infinity()}), longs({1}, {1})}), Error);
}

TEST(EvalRegions, DeformConv) {
  const Tensor x = floats({1, 1, 1, 3}, {1, 2, 4}), weight = floats({1, 1, 1, 1}, {10}), none = floats({1, 2, 1, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_THAT(list_floats(TestNode{"DeformConv", {}, 19}.run({x, weight, none})), ElementsAre(10, 20, 40));
  // Half a pixel to the right, where the last reads half a zero; then a bias and a mask.
  const Tensor right = floats({1, 2, 1, 3}, {0, 0, 0, 0.5f, 0.5f, 0.5f});
  EXPECT_THAT(list_floats(TestNode{"DeformConv", {}, 19}.run({x, weight, right})), ElementsAre(15, 30, 20));
  EXPECT_THAT(list_floats(TestNode{"DeformConv", {}, 19}.run({x, weight, right, floats({1}, {1}), floats({1, 1, 1, 3}, {1, 0, 1})})),
              ElementsAre(16, 1, 21));
  EXPECT_THROW((TestNode{"DeformConv", {}, 19}.run({x, weight, floats({1, 1, 1, 3}, {0, 0, 0})})), Error);
}

TEST(EvalRegions, AffineGrid) {
  const Tensor same = floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}), size = longs({4}, {1, 1, 1, 2});
  EXPECT_THAT(list_floats(TestNode{"AffineGrid", {}, 20}.run({same, size})), ElementsAre(-0.5f, 0, 0.5f, 0));
  EXPECT_THAT(list_floats(TestNode{"AffineGrid", {{"align_corners", int64_t{1}}}, 20}.run({same, longs({4}, {1, 1, 2, 2})})),
              ElementsAre(-1, -1, 1, -1, -1, 1, 1, 1));
  EXPECT_THROW((TestNode{"AffineGrid", {}, 20}.run({same, longs({3}, {1, 1, 1})})), Error);
}

// A volume of two planes, read half-way between them.
TEST(EvalRegions, GridSampleOfAVolume) {
  const Tensor x = floats({1, 1, 2, 1, 1}, {4, 8}), between = floats({1, 1, 1, 1, 3}, {0, 0, 0});
  EXPECT_THAT(list_floats(TestNode{"GridSample", {}, 20}.run({x, between})), ElementsAre(6));
}

// The batch's own mean and variance, and where the next batch starts from.
TEST(EvalRegions, BatchNormalizationThatTrains) {
  const TestNode node{"BatchNormalization", {{"training_mode", int64_t{1}}, {"epsilon", 0.0f}, {"momentum", 0.75f}}, 15, 3};
  const Tensor one = floats({1}, {1}), zero = floats({1}, {0});
  const auto results = node.run_all({floats({2, 1}, {1, 5}), one, zero, zero, one});
  EXPECT_THAT(list_floats(results[0]), ElementsAre(-1, 1));
  EXPECT_THAT(list_floats(results[1]), ElementsAre(0.75f));  // between 0 and 3
  EXPECT_THAT(list_floats(results[2]), ElementsAre(1.75f));  // between 1 and 4
}

}  // namespace
}  // namespace deepgap
