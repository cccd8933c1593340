#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

Ints range(int64_t start, int64_t limit, int64_t delta) {
  return list<int64_t>(TestNode{"Range"}.run({longs({}, {start}), longs({}, {limit}), longs({}, {delta})}));
}

TEST(EvalGenerate, Range) {
  EXPECT_EQ(range(1, 8, 3), (Ints{1, 4, 7}));
  EXPECT_EQ(range(10, 4, -2), (Ints{10, 8, 6}));
  EXPECT_EQ(range(3, 3, 1), (Ints{}));
  EXPECT_EQ(range(3, 0, 1), (Ints{}));
  const int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(range(least, most, most), (Ints{least, -1, most - 1}));
  EXPECT_EQ(list_floats(TestNode{"Range"}.run({floats({}, {0}), floats({}, {1}), floats({}, {0.4f})})), (Floats{0, 0.4f, 0.8f}));
  EXPECT_THROW(range(0, 1, 0), Error);
  EXPECT_THROW(range(0, most, 1), Error);
  EXPECT_THROW(TestNode{"Range"}.run({floats({}, {0}), longs({}, {1}), longs({}, {1})}), Error);
}

TEST(EvalGenerate, EyeLike) {
  EXPECT_EQ(list_floats(TestNode{"EyeLike"}.run({counting({2, 3})})), (Floats{1, 0, 0, 0, 1, 0}));
  const TestNode above{"EyeLike", {{"k", int64_t{1}}, {"dtype", int64_t{7}}}};
  EXPECT_EQ(list<int64_t>(above.run({counting({2, 3})})), (Ints{0, 1, 0, 0, 0, 1}));
  const TestNode below{"EyeLike", {{"k", std::numeric_limits<int64_t>::min()}, {"dtype", int64_t{11}}}};
  EXPECT_EQ(list<double>(below.run({counting({1, 2})})), (std::vector<double>{0, 0}));
  EXPECT_THROW(TestNode{"EyeLike"}.run({counting({2})}), Error);
}

TEST(EvalGenerate, OneHot) {
  const Tensor values = floats({2}, {0, 5});
  EXPECT_EQ(list_floats(TestNode{"OneHot"}.run({longs({2}, {1, -1}), longs({}, {3}), values})), (Floats{0, 5, 0, 0, 0, 5}));
  const Tensor first = TestNode{"OneHot", {{"axis", int64_t{0}}}}.run({longs({2}, {1, 7}), longs({1}, {2}), values});
  EXPECT_EQ(first.shape, (Shape{2, 2}));
  EXPECT_EQ(list_floats(first), (Floats{0, 0, 5, 0}));
  EXPECT_EQ(list<int64_t>(TestNode{"OneHot"}.run({floats({}, {1}), floats({}, {2}), longs({2}, {7, 8})})), (Ints{7, 8}));
  EXPECT_EQ(TestNode{"OneHot"}.run({longs({0}, {}), longs({}, {3}), values}).shape, (Shape{0, 3}));
  EXPECT_THROW(TestNode{"OneHot"}.run({longs({1}, {0}), longs({}, {-1}), values}), Error);
  EXPECT_THROW(TestNode{"OneHot"}.run({longs({1}, {0}), longs({}, {1}), floats({1}, {1})}), Error);
}

TEST(EvalGenerate, Size) {
  EXPECT_EQ(list<int64_t>(TestNode{"Size"}.run({counting({2, 3})})), (Ints{6}));
  EXPECT_EQ(list<int64_t>(TestNode{"Size"}.run({floats({2, 0}, {})})), (Ints{0}));
}

}  // namespace
}  // namespace deepgap
