#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::FloatNear;
using testing::Pointwise;

void expect_near(const Tensor& got, const std::vector<float>& want) { EXPECT_THAT(list_floats(got), Pointwise(FloatNear(1e-5f), want)); }

const std::vector<float> spectrum{10, 0, -2, 2, -2, 0, -2, -2};  // spectrum of the signal 1, 2, 3, 4

TEST(EvalSignal, Dft) {
  const Tensor x = floats({1, 4, 1}, {1, 2, 3, 4});
  expect_near(TestNode{"DFT", {}, 20}.run({x}), spectrum);
  expect_near(TestNode{"DFT", {{"axis", int64_t{1}}}, 17}.run({x}), spectrum);
  expect_near(TestNode{"DFT", {{"onesided", int64_t{1}}}, 20}.run({x}), {10, 0, -2, 2, -2, 0});
  // Cut, and filled up with zeros.
  expect_near(TestNode{"DFT", {}, 20}.run({x, longs({}, {2})}), {3, 0, -1, 0});
  EXPECT_EQ((TestNode{"DFT", {}, 20}.run({x, longs({}, {8})}).shape), (Shape{1, 8, 2}));
  EXPECT_THROW((TestNode{"DFT", {}, 20}.run({x, longs({}, {0})})), Error);
  EXPECT_THROW((TestNode{"DFT", {}, 20}.run({x, Tensor{}, longs({}, {2})})), Error);
}

TEST(EvalSignal, InverseDft) {
  const TestNode inverse{"DFT", {{"inverse", int64_t{1}}}, 20};
  expect_near(inverse.run({floats({1, 4, 2}, spectrum)}), {1, 0, 2, 0, 3, 0, 4, 0});
  const TestNode of_half{"DFT", {{"inverse", int64_t{1}}, {"onesided", int64_t{1}}}, 20};
  expect_near(of_half.run({floats({1, 3, 2}, {10, 0, -2, 2, -2, 0})}), {1, 2, 3, 4});
}

TEST(EvalSignal, Stft) {
  const Tensor x = floats({1, 6, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor y = TestNode{"STFT", {}, 17}.run({x, longs({}, {2}), floats({2}, {1, 10})});
  EXPECT_EQ(y.shape, (Shape{1, 3, 2, 2}));
  expect_near(y, {21, 0, -19, 0, 43, 0, -37, 0, 65, 0, -55, 0});
  EXPECT_THROW((TestNode{"STFT", {}, 17}.run({x, longs({}, {2}), Tensor{}, longs({}, {7})})), Error);
}

TEST(EvalSignal, Windows) {
  const Tensor four = longs({}, {4}), three = longs({}, {3});
  expect_near(TestNode{"HannWindow", {}, 17}.run({four}), {0, 0.5f, 1, 0.5f});
  expect_near(TestNode{"HannWindow", {{"periodic", int64_t{0}}}, 17}.run({three}), {0, 1, 0});
  expect_near(TestNode{"HammingWindow", {}, 17}.run({four}), {0.0869565f, 0.543478f, 1, 0.543478f});
  expect_near(TestNode{"BlackmanWindow", {}, 17}.run({four}), {0, 0.34f, 1, 0.34f});
}

// Two bands from 0 to 8 kHz, at 16 kHz over a transform of 16: edges at bins 0, 0, 1 and 4, by hand from 2595 log10(1 + f / 700).
TEST(EvalSignal, MelWeightMatrix) {
  const TestNode node{"MelWeightMatrix", {}, 17};
  const Tensor y = node.run({longs({}, {2}), longs({}, {16}), longs({}, {16000}), floats({}, {0}), floats({}, {8000})});
  EXPECT_EQ(y.shape, (Shape{9, 2}));
  expect_near(y, {1, 0, 0, 1, 0, 2.0f / 3, 0, 1.0f / 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THROW(node.run({longs({}, {2}), longs({}, {16}), longs({}, {16000}), floats({}, {0}), floats({}, {80000})}), Error);
}

}  // namespace
}  // namespace deepgap
