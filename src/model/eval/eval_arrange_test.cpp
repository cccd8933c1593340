#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TEST(EvalArrange, Tile) {
  EXPECT_EQ(list_floats(TestNode{"Tile"}.run({counting({2, 2}), longs({2}, {1, 2})})), (Floats{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(list_floats(TestNode{"Tile"}.run({counting({1, 2}), longs({2}, {2, 1})})), (Floats{0, 1, 0, 1}));
  EXPECT_EQ(TestNode{"Tile"}.run({counting({2}), longs({1}, {0})}).shape, (Shape{0}));
  EXPECT_EQ(TestNode{"Tile"}.run({floats({0}, {}), longs({1}, {3})}).shape, (Shape{0}));
  EXPECT_EQ(list_floats(TestNode{"Tile"}.run({floats({}, {3}), longs({0}, {})})), (Floats{3}));
  EXPECT_THROW(TestNode{"Tile"}.run({counting({2}), longs({2}, {1, 1})}), Error);
  EXPECT_THROW(TestNode{"Tile"}.run({counting({2}), longs({1}, {-1})}), Error);
}

TEST(EvalArrange, DepthAndSpace) {
  const TestNode depth_first{"DepthToSpace", {{"blocksize", int64_t{2}}}, 9};
  const TestNode column_first{"DepthToSpace", {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}};
  const Tensor x = counting({1, 8, 1, 1});
  EXPECT_EQ(list_floats(depth_first.run({x})), (Floats{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(list_floats(column_first.run({x})), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(depth_first.run({x}).shape, (Shape{1, 2, 2, 2}));
  const TestNode back{"SpaceToDepth", {{"blocksize", int64_t{2}}}};
  EXPECT_EQ(list_floats(back.run({depth_first.run({x})})), list_floats(x));
  EXPECT_THROW(depth_first.run({counting({1, 3, 1, 1})}), Error);
  EXPECT_THROW(back.run({counting({1, 1, 3, 2})}), Error);
  EXPECT_THROW(TestNode{"SpaceToDepth"}.run({counting({1, 1, 2, 2})}), Error);
}

// Attributes are bytes, and messages quote them.
TEST(EvalArrange, AnAttributeThatIsQuotedSpoilsNoLine) {
  const TestNode node{"DepthToSpace", {{"blocksize", int64_t{2}}, {"mode", std::string("CR\n\x1b[2JD")}}};
  try {
    node.run({counting({1, 8, 1, 1})});
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find_first_of("\n\x1b"), std::string::npos) << error.what();
  }
}

TEST(EvalArrange, ReverseSequence) {
  const TestNode batch_first{"ReverseSequence", {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}};
  EXPECT_EQ(list_floats(batch_first.run({counting({2, 3}), longs({2}, {2, 3})})), (Floats{1, 0, 2, 5, 4, 3}));
  EXPECT_EQ(list_floats(TestNode{"ReverseSequence"}.run({counting({3, 2}), longs({2}, {1, 3})})), (Floats{0, 5, 2, 3, 4, 1}));
  EXPECT_EQ(list_floats(batch_first.run({counting({1, 2, 2}), longs({1}, {2})})), (Floats{2, 3, 0, 1}));
  EXPECT_THROW(batch_first.run({counting({2, 3}), longs({2}, {2, 4})}), Error);
  EXPECT_THROW(batch_first.run({counting({2, 3}), longs({1}, {2})}), Error);
}

}  // namespace
}  // namespace deepgap
