#include "model/eval/strided.h"

#include "model/eval/rearrange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace deepgap {
namespace {

// Element by element, by the definition.
template <typename T>
void copy_plainly(const Shape& shape, const T* from, const std::vector<int64_t>& from_strides, T* to,
                  const std::vector<int64_t>& to_strides) {
  const std::vector<int64_t> own = row_major_strides(shape);
  for (int64_t i = 0; i < product_of(shape); ++i) {
    int64_t source = 0, target = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t index = i / own[d] % shape[d];
      source += index * from_strides[d], target += index * to_strides[d];
    }
    to[target] = from[source];
  }
}

template <typename T>
void copies_as_defined(const Shape& shape, const std::vector<int64_t>& from_strides, int64_t first = 0) {
  std::vector<T> from(200'000);
  std::iota(from.begin(), from.end(), T{1});
  const auto count = static_cast<size_t>(product_of(shape));
  std::vector<T> expected(count + 1, 0), actual(count + 1, 0);
  copy_plainly(shape, from.data() + first, from_strides, expected.data(), row_major_strides(shape));
  copy_strided(shape, sizeof(T), {reinterpret_cast<const std::byte*>(from.data() + first), from_strides},
               {reinterpret_cast<std::byte*>(actual.data()), row_major_strides(shape)});
  EXPECT_TRUE(expected == actual) << ::testing::PrintToString(shape) << " " << ::testing::PrintToString(from_strides);
}

TEST(Strided, CopiesEveryOrderOfAxes) {
  for (const Shape& sizes : {Shape{2, 3, 5, 7}, Shape{1, 40, 3, 33}, Shape{64, 50, 1, 50}, Shape{3, 1, 1, 4100}}) {
    std::vector<int64_t> order{0, 1, 2, 3};
    do {
      const std::vector<int64_t> own = row_major_strides(sizes);
      Shape shape;
      std::vector<int64_t> strides;
      for (const int64_t axis : order) shape.push_back(sizes[static_cast<size_t>(axis)]), strides.push_back(own[static_cast<size_t>(axis)]);
      copies_as_defined<uint32_t>(shape, strides);
      copies_as_defined<uint16_t>(shape, strides);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Strided, RepeatsAndWalksBackwards) {
  copies_as_defined<uint64_t>({4, 300, 5}, {0, 7, 0});
  copies_as_defined<uint32_t>({4, 300, 5}, {5, 20, -1}, 9);
  copies_as_defined<uint8_t>({300, 40}, {-1, -300}, 12'000);
  copies_as_defined<uint32_t>({}, {});
  copies_as_defined<uint32_t>({3, 0, 2}, {0, 2, 1});
}

TEST(Strided, WritesIntoWiderRows) {
  const std::vector<uint32_t> from{1, 2, 3, 4, 5, 6};
  std::vector<uint32_t> to(9, 0);
  copy_strided(Shape{3, 2}, sizeof(uint32_t), {reinterpret_cast<const std::byte*>(from.data()), {1, 3}},
               {reinterpret_cast<std::byte*>(to.data()), {3, 1}});
  EXPECT_EQ(to, (std::vector<uint32_t>{1, 4, 0, 2, 5, 0, 3, 6, 0}));
}

}  // namespace
}  // namespace deepgap
