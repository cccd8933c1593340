#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

Tensor vector_of(const Ints& values) { return longs({static_cast<int64_t>(values.size())}, values); }

// A row 0 1 2 3 with elements before and after it.
Floats padded(const char* mode, int64_t before, int64_t after, int64_t size = 4) {
  return list_floats(TestNode{"Pad", {{"mode", std::string(mode)}}, 19}.run({counting({size}), vector_of({before, after})}));
}

TEST(EvalPad, Constant) {
  const Tensor x = floats({1, 2}, {1, 2});
  EXPECT_EQ(list_floats(TestNode{"Pad"}.run({x, vector_of({1, 0, 0, 1})})), (Floats{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(list_floats(TestNode{"Pad"}.run({x, vector_of({0, 1, 0, 0}), floats({}, {7})})), (Floats{7, 1, 2}));
  EXPECT_EQ(list_floats(TestNode{"Pad", {{"pads", Ints{0, 0, 0, 2}}, {"value", 3.0f}}, 10}.run({x})), (Floats{1, 2, 3, 3}));
  EXPECT_EQ(list_floats(TestNode{"Pad", {}, 18}.run({x, vector_of({1, 0}), Tensor{}, vector_of({-1})})), (Floats{0, 1, 2}));
  EXPECT_EQ(list_floats(TestNode{"Pad"}.run({counting({1, 4}), vector_of({0, -1, 0, 1})})), (Floats{1, 2, 3, 0}));
  EXPECT_EQ(list<int64_t>(TestNode{"Pad"}.run({vector_of({4}), vector_of({1, 0})})), (Ints{0, 4}));
  EXPECT_EQ(list_floats(TestNode{"Pad"}.run({floats({0}, {}), vector_of({1, 1}), floats({}, {5})})), (Floats{5, 5}));
}

TEST(EvalPad, OfItsOwnElements) {
  EXPECT_EQ(padded("edge", 2, 1), (Floats{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(padded("reflect", 2, 3), (Floats{2, 1, 0, 1, 2, 3, 2, 1, 0}));
  EXPECT_EQ(padded("wrap", 1, 2), (Floats{3, 0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(padded("reflect", -1, 1), (Floats{1, 2, 3, 2}));
  EXPECT_EQ(padded("edge", 0, -2), (Floats{0, 1}));
  EXPECT_EQ(padded("reflect", 1, 1, 1), (Floats{0, 0, 0}));
  EXPECT_EQ(padded("wrap", 5, 0, 2), (Floats{1, 0, 1, 0, 1, 0, 1}));
}

TEST(EvalPad, WhatCannotBe) {
  EXPECT_THROW(padded("mirror", 1, 1), Error);
  EXPECT_THROW(padded("edge", 1, 0, 0), Error);
  EXPECT_THROW(padded("reflect", -3, -2), Error);
  EXPECT_THROW(TestNode{"Pad"}.run({counting({2}), vector_of({1})}), Error);
}

}  // namespace
}  // namespace deepgap
