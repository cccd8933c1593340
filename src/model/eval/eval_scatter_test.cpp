#include "model/eval/half.h"
#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TestNode reducing(const char* op, const char* reduction) { return {op, {{"reduction", std::string(reduction)}}, 18}; }

TEST(EvalScatter, Elements) {
  const Tensor x = floats({3, 2}, {0, 0, 0, 0, 0, 0}), updates = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(list_floats(TestNode{"ScatterElements"}.run({x, longs({2, 2}, {1, 0, 2, -1}), updates})), (Floats{0, 2, 1, 0, 3, 4}));
  const TestNode columns{"Scatter", {{"axis", int64_t{1}}}, 9};
  EXPECT_EQ(list_floats(columns.run({floats({1, 3}, {1, 2, 3}), longs({1, 2}, {1, -1}), floats({1, 2}, {8, 9})})), (Floats{1, 8, 9}));
  EXPECT_EQ(list_floats(TestNode{"ScatterElements"}.run({x, longs({0, 2}, {}), floats({0, 2}, {})})), list_floats(x));
  EXPECT_THROW(TestNode{"ScatterElements"}.run({x, longs({1, 1}, {3}), floats({1, 1}, {1})}), Error);
  EXPECT_THROW(TestNode{"ScatterElements"}.run({x, longs({1, 1}, {0}), longs({1, 1}, {1})}), Error);
}

TEST(EvalScatter, TwiceInOnePlace) {
  const Tensor x = floats({1}, {10}), indices = longs({2}, {0, 0}), updates = floats({2}, {3, 4});
  EXPECT_EQ(list_floats(reducing("ScatterElements", "none").run({x, indices, updates})), (Floats{4}));
  EXPECT_EQ(list_floats(reducing("ScatterElements", "add").run({x, indices, updates})), (Floats{17}));
  EXPECT_EQ(list_floats(reducing("ScatterElements", "mul").run({x, indices, updates})), (Floats{120}));
  EXPECT_EQ(list_floats(reducing("ScatterElements", "max").run({x, indices, updates})), (Floats{10}));
  EXPECT_EQ(list_floats(reducing("ScatterElements", "min").run({x, indices, updates})), (Floats{3}));
  EXPECT_THROW(reducing("ScatterElements", "mean").run({x, indices, updates}), Error);
}

TEST(EvalScatter, OtherTypes) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Tensor index = longs({1}, {0});
  EXPECT_EQ(list<int64_t>(reducing("ScatterElements", "max").run({longs({1}, {most - 1}), index, longs({1}, {most})})), (Ints{most}));
  const Tensor half = tensor_of<Half>(DataType::f16, {1}, {to_half(1.5f)});
  EXPECT_EQ(to_float(reducing("ScatterElements", "add").run({half, index, half}).as<Half>()[0]), 3);
  EXPECT_EQ(list<uint8_t>(TestNode{"ScatterElements"}.run({flags({1}, {0}), index, flags({1}, {1})})), (std::vector<uint8_t>{1}));
  EXPECT_THROW(reducing("ScatterElements", "add").run({flags({1}, {0}), index, flags({1}, {1})}), Error);
}

TEST(EvalScatter, Nd) {
  const Tensor x = counting({2, 2});
  EXPECT_EQ(list_floats(TestNode{"ScatterND"}.run({x, longs({1, 1}, {-1}), floats({1, 2}, {8, 9})})), (Floats{0, 1, 8, 9}));
  EXPECT_EQ(list_floats(TestNode{"ScatterND"}.run({x, longs({2, 2}, {0, 1, 1, 0}), floats({2}, {8, 9})})), (Floats{0, 8, 9, 3}));
  EXPECT_EQ(list_floats(reducing("ScatterND", "add").run({x, longs({2, 1}, {0, 0}), floats({2, 2}, {1, 2, 3, 4})})), (Floats{4, 7, 2, 3}));
  EXPECT_THROW(TestNode{"ScatterND"}.run({x, longs({1, 1}, {2}), floats({1, 2}, {8, 9})}), Error);
  EXPECT_THROW(TestNode{"ScatterND"}.run({x, longs({1, 1}, {1}), floats({1}, {8})}), Error);
}

}  // namespace
}  // namespace deepgap
