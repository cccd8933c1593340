#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

Tensor einsum(const std::string& equation, const std::vector<Tensor>& inputs) {
  return TestNode{"Einsum", {{"equation", equation}}}.run(inputs);
}

TEST(EvalEinsum, ProductsOfMatrices) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {1, 0, 0, 1, 1, 1});
  EXPECT_EQ(list_floats(einsum("ij,jk->ik", {a, b})), (Floats{4, 5, 10, 11}));
  EXPECT_EQ(list_floats(einsum("ij, jk", {a, b})), (Floats{4, 5, 10, 11}));
  EXPECT_EQ(list_floats(einsum("ij,jk->ki", {a, b})), (Floats{4, 10, 5, 11}));
  EXPECT_EQ(list_floats(einsum("ij,kj->ik", {a, a})), (Floats{14, 32, 32, 77}));
  EXPECT_EQ(list_floats(einsum("ij,jk,k->i", {a, b, floats({2}, {1, 2})})), (Floats{14, 32}));
}

TEST(EvalEinsum, OneInput) {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(list_floats(einsum("ij->ji", {a})), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(list_floats(einsum("ii->i", {a})), (Floats{1, 4}));
  EXPECT_EQ(list_floats(einsum("ii", {a})), (Floats{5}));
  EXPECT_EQ(einsum("ij->", {a}).shape, Shape{});
  EXPECT_EQ(list_floats(einsum("ij->j", {a})), (Floats{4, 6}));
}

TEST(EvalEinsum, AxesWithoutNamesAreBroadcast) {
  const Tensor a = counting({2, 2, 2}), row = floats({2}, {1, 10});
  EXPECT_EQ(list_floats(einsum("...i,i->...", {a, row})), (Floats{10, 32, 54, 76}));
  EXPECT_EQ(einsum("...i,...i->...i", {a, floats({1, 2}, {1, 10})}).shape, (Shape{2, 2, 2}));
  EXPECT_EQ(list_floats(einsum("i...,i", {floats({2, 1}, {3, 4}), row})), (Floats{43}));
}

TEST(EvalEinsum, WholeNumbersAndNothing) {
  EXPECT_EQ(list<int64_t>(einsum("i,i->", {longs({2}, {INT64_MAX, 1}), longs({2}, {1, 2})})), (Ints{INT64_MIN + 1}));
  EXPECT_EQ(list_floats(einsum("ij->i", {floats({2, 0}, {})})), (Floats{0, 0}));
  EXPECT_EQ(einsum("ij->ij", {floats({2, 0}, {})}).shape, (Shape{2, 0}));
}

TEST(EvalEinsum, WrongEquations) {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4});
  const auto error = [&](const std::string& equation, const std::vector<Tensor>& inputs) {
    try {
      einsum(equation, inputs);
    } catch (const Error& thrown) {
      return std::string(thrown.what());
    }
    return std::string();
  };
  using testing::HasSubstr;
  EXPECT_THAT(error("ij,jk->ik", {a}), HasSubstr("2 terms for 1 inputs"));
  EXPECT_THAT(error("ijk->i", {a}), HasSubstr("a term 'ijk' for an input of rank 2"));
  EXPECT_THAT(error("i1->i", {a}), HasSubstr("'1' in a term"));
  EXPECT_THAT(error("ij->ii", {a}), HasSubstr("twice"));
  EXPECT_THAT(error("ij->k", {a}), HasSubstr("that no input has"));
  EXPECT_THAT(error("ij,jk->ik", {a, floats({3, 1}, {1, 2, 3})}), HasSubstr("sizes 2 and 3"));
}

}  // namespace
}  // namespace deepgap
