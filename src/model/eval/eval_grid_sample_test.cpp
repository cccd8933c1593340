#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

// A picture of one row 1 2 3 4, read at parts of its width.
Floats sampled(const char* mode, const char* border, bool align_corners, const Floats& parts) {
  Floats grid;
  for (const float part : parts) grid.insert(grid.end(), {part, 0});
  const TestNode node{
      "GridSample", {{"mode", std::string(mode)}, {"padding_mode", std::string(border)}, {"align_corners", int64_t{align_corners}}}, 20};
  return list_floats(node.run({floats({1, 1, 1, 4}, {1, 2, 3, 4}), floats({1, 1, static_cast<int64_t>(parts.size()), 2}, grid)}));
}

TEST(EvalGridSample, Linear) {
  // -1 and 1 are the outer edges, or the centres of the outer elements.
  EXPECT_EQ(sampled("linear", "zeros", false, {-1, -0.75f, -0.5f, 0, 1}), (Floats{0.5f, 1, 1.5f, 2.5f, 2}));
  EXPECT_EQ(sampled("linear", "zeros", true, {-1, 0, 1}), (Floats{1, 2.5f, 4}));
  EXPECT_EQ(sampled("bilinear", "border", false, {-1, 3}), (Floats{1, 4}));
  EXPECT_EQ(sampled("linear", "reflection", false, {-1.5f, 1.25f}), (Floats{1.5f, 4}));
  EXPECT_EQ(sampled("linear", "reflection", true, {-2}), (Floats{2.5f}));
}

TEST(EvalGridSample, Nearest) {
  EXPECT_EQ(sampled("nearest", "zeros", false, {-0.9f, 0.1f, 1.9f}), (Floats{1, 3, 0}));
  EXPECT_EQ(sampled("nearest", "border", false, {1.9f}), (Floats{4}));
}

TEST(EvalGridSample, Cubic) {
  EXPECT_EQ(sampled("cubic", "border", false, {-0.75f, 0.75f}), (Floats{1, 4}));
  // Halfway the weights are -0.09375, 0.59375, 0.59375 and -0.09375.
  EXPECT_EQ(sampled("bicubic", "border", false, {0}), (Floats{2.5f}));
  EXPECT_EQ(sampled("cubic", "zeros", false, {1}), (Floats{4 * 0.59375f - 3 * 0.09375f}));
}

TEST(EvalGridSample, WhatDoesNotFit) {
  const TestNode node{"GridSample"};
  EXPECT_THROW(node.run({counting({1, 1, 2, 2}), counting({2, 1, 1, 2})}), Error);
  EXPECT_THROW(node.run({counting({1, 1, 2, 2, 2, 2}), counting({1, 1, 1, 1, 1, 4})}), Error);
  EXPECT_THROW(sampled("area", "zeros", false, {0}), Error);
}

}  // namespace
}  // namespace deepgap
