#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TEST(EvalShape, Flatten) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(TestNode{"Flatten"}.run({x}).shape, (Shape{2, 12}));
  EXPECT_EQ((TestNode{"Flatten", {{"axis", int64_t{0}}}}.run({x}).shape), (Shape{1, 24}));
  EXPECT_EQ((TestNode{"Flatten", {{"axis", int64_t{3}}}}.run({x}).shape), (Shape{24, 1}));
  EXPECT_EQ((TestNode{"Flatten", {{"axis", int64_t{-1}}}}.run({x}).shape), (Shape{6, 4}));
  EXPECT_EQ(list_floats(TestNode{"Flatten"}.run({x})), list_floats(x));
  EXPECT_THROW((TestNode{"Flatten", {{"axis", int64_t{4}}}}.run({x})), Error);
}

TEST(EvalShape, Reshape) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(TestNode{"Reshape"}.run({x, longs({2}, {6, 4})}).shape, (Shape{6, 4}));
  EXPECT_EQ(TestNode{"Reshape"}.run({x, longs({2}, {0, -1})}).shape, (Shape{2, 12}));
  EXPECT_EQ(TestNode{"Reshape"}.run({counting({1}), longs({0}, {})}).shape, (Shape{}));
  const TestNode literal{"Reshape", {{"allowzero", int64_t{1}}}};
  EXPECT_EQ(literal.run({floats({0, 3}, {}), longs({2}, {3, 0})}).shape, (Shape{3, 0}));
  EXPECT_THROW(TestNode{"Reshape"}.run({x, longs({2}, {5, -1})}), Error);
  EXPECT_THROW(TestNode{"Reshape"}.run({x, longs({2}, {-1, -1})}), Error);
  EXPECT_THROW(TestNode{"Reshape"}.run({x, longs({1}, {23})}), Error);
}

TEST(EvalShape, SqueezeAndUnsqueezeInBothForms) {
  const Tensor x = counting({1, 3, 1});
  EXPECT_EQ(TestNode{"Squeeze"}.run({x}).shape, (Shape{3}));
  EXPECT_EQ(TestNode{"Squeeze"}.run({x, longs({1}, {-1})}).shape, (Shape{1, 3}));
  EXPECT_EQ((TestNode{"Squeeze", {{"axes", Ints{0}}}, 11}.run({x}).shape), (Shape{3, 1}));
  EXPECT_THROW(TestNode{"Squeeze"}.run({x, longs({1}, {1})}), Error);
  EXPECT_EQ(TestNode{"Unsqueeze"}.run({counting({3}), longs({2}, {-1, 0})}).shape, (Shape{1, 3, 1}));
  EXPECT_EQ((TestNode{"Unsqueeze", {{"axes", Ints{1}}}, 11}.run({counting({3})}).shape), (Shape{3, 1}));
  EXPECT_THROW(TestNode{"Unsqueeze"}.run({counting({3}), longs({2}, {0, 0})}), Error);
}

TEST(EvalShape, ShapeAndItsPart) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(list<int64_t>(TestNode{"Shape"}.run({x})), (Ints{2, 3, 4}));
  EXPECT_EQ(list<int64_t>(TestNode{"Shape", {{"start", int64_t{1}}}}.run({x})), (Ints{3, 4}));
  EXPECT_EQ(list<int64_t>(TestNode{"Shape", {{"start", int64_t{-2}}, {"end", int64_t{-1}}}}.run({x})), (Ints{3}));
}

TEST(EvalShape, Constants) {
  EXPECT_EQ(list_floats(TestNode{"Constant", {{"value", floats({2}, {1, 2})}}}.run({})), (Floats{1, 2}));
  EXPECT_EQ(list<int64_t>(TestNode{"Constant", {{"value_int", int64_t{7}}}}.run({})), (Ints{7}));
  EXPECT_EQ(list_floats(TestNode{"Constant", {{"value_float", 1.5f}}}.run({})), (Floats{1.5}));
  EXPECT_EQ((TestNode{"Constant", {{"value_ints", Ints{1, 2}}}}.run({}).shape), (Shape{2}));
  EXPECT_EQ(list_floats(TestNode{"Constant", {{"value_floats", Floats{1, 2}}}}.run({})), (Floats{1, 2}));
  EXPECT_EQ(list_floats(TestNode{"ConstantOfShape"}.run({longs({2}, {1, 2})})), (Floats{0, 0}));
  const Tensor five = TestNode{"ConstantOfShape", {{"value", longs({1}, {5})}}}.run({longs({1}, {3})});
  EXPECT_EQ(list<int64_t>(five), (Ints{5, 5, 5}));
  EXPECT_EQ(TestNode{"ConstantOfShape"}.run({longs({0}, {})}).shape, (Shape{}));
  EXPECT_THROW(TestNode{"ConstantOfShape"}.run({longs({1}, {-1})}), Error);
}

TEST(EvalShape, IdentityAndDropout) {
  const Tensor x = counting({2, 2});
  EXPECT_EQ(list_floats(TestNode{"Identity"}.run({x})), list_floats(x));
  const auto both = TestNode{"Dropout", {}, 17, 2}.run_all({x, floats({}, {0.5})});
  EXPECT_EQ(list_floats(both[0]), list_floats(x));
  EXPECT_EQ(list<uint8_t>(both[1]), (std::vector<uint8_t>{1, 1, 1, 1}));
  EXPECT_THROW(TestNode{"Dropout"}.run({x, floats({}, {0.5}), flags({}, {1})}), Error);
}

}  // namespace
}  // namespace deepgap
