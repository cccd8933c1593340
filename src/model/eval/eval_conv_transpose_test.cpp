#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TEST(EvalConvTranspose, AddsAKernelForEachInput) {
  const TestNode node{"ConvTranspose", {{"strides", Ints{2}}}};
  // 1 * [1,2,3] at 0, 10 * [1,2,3] at 2
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 2}, {1, 10}), floats({1, 1, 3}, {1, 2, 3})})), (Floats{1, 2, 13, 20, 30}));
}

TEST(EvalConvTranspose, BiasPadsAndOutputPadding) {
  const TestNode node{"ConvTranspose", {{"strides", Ints{2}}, {"pads", Ints{1, 0}}, {"output_padding", Ints{1}}}};
  const Tensor y = node.run({floats({1, 1, 2}, {1, 10}), floats({1, 1, 3}, {1, 2, 3}), floats({1}, {100})});
  EXPECT_EQ(list_floats(y), (Floats{102, 113, 120, 130, 100}));
}

TEST(EvalConvTranspose, GroupsHaveTheirOwnChannels) {
  const TestNode node{"ConvTranspose", {{"group", int64_t{2}}}};
  // Channels 1 and 2 are a group each, with two outputs each.
  const Tensor y = node.run({floats({1, 2, 1}, {3, 5}), floats({2, 2, 1}, {1, 2, 10, 20})});
  EXPECT_EQ(y.shape, (Shape{1, 4, 1}));
  EXPECT_EQ(list_floats(y), (Floats{3, 6, 50, 100}));
}

TEST(EvalConvTranspose, OutputShapePutsTheOddPadInFront) {
  TestNode node{"ConvTranspose", {{"output_shape", Ints{4}}, {"strides", Ints{2}}}};
  const std::vector<Tensor> inputs{floats({1, 1, 2}, {1, 10}), floats({1, 1, 3}, {1, 2, 3})};  // reaches 5
  EXPECT_EQ(list_floats(node.run(inputs)), (Floats{2, 13, 20, 30}));
  node.attributes["auto_pad"] = std::string("SAME_UPPER");
  EXPECT_EQ(list_floats(node.run(inputs)), (Floats{1, 2, 13, 20}));
}

TEST(EvalConvTranspose, DilatesInTwoAndThreeDimensions) {
  const TestNode flat{"ConvTranspose", {{"dilations", Ints{1, 2}}}};
  EXPECT_EQ(list_floats(flat.run({floats({1, 1, 1, 2}, {1, 10}), floats({1, 1, 2, 2}, {1, 2, 3, 4})})),
            (Floats{1, 10, 2, 20, 3, 30, 4, 40}));
  const TestNode deep{"ConvTranspose"};
  EXPECT_EQ(list_floats(deep.run({floats({1, 1, 2, 1, 1}, {1, 10}), floats({1, 1, 2, 1, 2}, {1, 2, 3, 4})})),
            (Floats{1, 2, 13, 24, 30, 40}));
}

TEST(EvalConvTranspose, ContradictionsAreNamed) {
  EXPECT_THROW(TestNode{"ConvTranspose"}.run({floats({1, 2, 2}, {1, 2, 3, 4}), floats({1, 1, 1}, {1})}), Error);
  const TestNode padded{"ConvTranspose", {{"pads", Ints{2, 2}}}};
  EXPECT_THROW(padded.run({floats({1, 1, 2}, {1, 2}), floats({1, 1, 1}, {1})}), Error);
}

}  // namespace
}  // namespace deepgap
