#include "model/eval/test_node.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Integers = std::vector<int32_t>;

Tensor bytes(Shape shape, const std::vector<uint8_t>& values) { return tensor_of(DataType::u8, std::move(shape), values); }
Tensor signed_bytes(Shape shape, const std::vector<int8_t>& values) { return tensor_of(DataType::i8, std::move(shape), values); }

TEST(EvalInteger, DynamicQuantizationKeepsZero) {
  const auto results = TestNode{"DynamicQuantizeLinear", {}, 17, 3}.run_all({floats({3}, {-51, 0, 204})});
  EXPECT_EQ(list<float>(results[1]), (std::vector<float>{1}));
  EXPECT_EQ(list<uint8_t>(results[2]), (std::vector<uint8_t>{51}));
  EXPECT_EQ(list<uint8_t>(results[0]), (std::vector<uint8_t>{0, 51, 255}));
}

TEST(EvalInteger, ProductsLessZeroPoints) {
  const TestNode node{"MatMulInteger"};
  const Tensor a = bytes({2, 2}, {1, 2, 3, 4}), b = signed_bytes({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(list<int32_t>(node.run({a, b})), (Integers{7, 10, 15, 22}));
  EXPECT_EQ(list<int32_t>(node.run({a, b, bytes({}, {1})})), (Integers{3, 4, 11, 16}));
  // A zero point for each row of A and each column of B.
  EXPECT_EQ(list<int32_t>(node.run({a, b, bytes({2}, {1, 3}), signed_bytes({2}, {1, 2})})), (Integers{2, 2, 2, 2}));
}

TEST(EvalInteger, ConvolutionPadsWithTheZeroPoint) {
  const TestNode node{"ConvInteger", {{"pads", Ints{1, 1}}}};
  const Tensor y = node.run({bytes({1, 1, 3}, {11, 12, 13}), signed_bytes({1, 1, 3}, {1, 2, 3}), bytes({}, {10})});
  EXPECT_EQ(y.type, DataType::i32);
  EXPECT_EQ(list<int32_t>(y), (Integers{8, 14, 8}));
}

TEST(EvalInteger, ConvolutionZeroPointsPerOutput) {
  const TestNode node{"ConvInteger", {{"group", int64_t{2}}}};
  const Tensor y = node.run({bytes({1, 2, 1, 2}, {1, 2, 3, 4}), signed_bytes({2, 1, 1, 1}, {5, 7}), Tensor{}, signed_bytes({2}, {1, 2})});
  EXPECT_EQ(list<int32_t>(y), (Integers{4, 8, 15, 20}));
}

}  // namespace
}  // namespace deepgap
