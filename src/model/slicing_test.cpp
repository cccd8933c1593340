#include "model/slicing.h"

#include <gtest/gtest.h>

#include <vector>

namespace deepgap {
namespace {

constexpr int64_t most = INT64_MAX, least = INT64_MIN;

std::vector<int64_t> taken(int64_t size, int64_t start, int64_t end, int64_t step) {
  const SliceRange range = slice_range(size, start, end, step);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < range.count; ++i) positions.push_back(range.begin + i * range.step);
  return positions;
}

using Positions = std::vector<int64_t>;

TEST(Slicing, Forwards) {
  EXPECT_EQ(taken(4, 0, most, 1), (Positions{0, 1, 2, 3}));
  EXPECT_EQ(taken(4, least, most, 3), (Positions{0, 3}));
  EXPECT_EQ(taken(4, -3, -1, 1), (Positions{1, 2}));
  EXPECT_EQ(taken(4, 1, 9, most), (Positions{1}));
  EXPECT_EQ(taken(4, 4, 9, 1), (Positions{}));
  EXPECT_EQ(taken(4, 3, 1, 1), (Positions{}));
}

TEST(Slicing, Backwards) {
  EXPECT_EQ(taken(4, -1, least, -1), (Positions{3, 2, 1, 0}));
  EXPECT_EQ(taken(4, most, 0, -2), (Positions{3, 1}));
  EXPECT_EQ(taken(4, most, least, least), (Positions{3}));
  EXPECT_EQ(taken(4, -9, least, -1), (Positions{0}));  // drawn in to the first
  EXPECT_EQ(taken(4, 1, 3, -1), (Positions{}));
}

TEST(Slicing, OfNothing) {
  EXPECT_EQ(taken(0, 0, most, 1), (Positions{}));
  EXPECT_EQ(taken(0, -1, least, -1), (Positions{}));
}

}  // namespace
}  // namespace deepgap
