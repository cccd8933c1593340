#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;

TEST(EvalUnique, SortedAndInOrderOfAppearance) {
  const Tensor x = floats({6}, {2, 1, 1, 3, 4, 3});
  const auto sorted = TestNode{"Unique", {}, 11, 4}.run_all({x});
  EXPECT_THAT(list_floats(sorted[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(list<int64_t>(sorted[1]), (Ints{1, 0, 3, 4}));
  EXPECT_EQ(list<int64_t>(sorted[2]), (Ints{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(list<int64_t>(sorted[3]), (Ints{2, 1, 2, 1}));
  const auto seen = TestNode{"Unique", {{"sorted", int64_t{0}}}, 11, 4}.run_all({x});
  EXPECT_THAT(list_floats(seen[0]), ElementsAre(2, 1, 3, 4));
  EXPECT_EQ(list<int64_t>(seen[1]), (Ints{0, 1, 3, 4}));
  EXPECT_EQ(list<int64_t>(seen[2]), (Ints{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(list<int64_t>(seen[3]), (Ints{1, 2, 2, 1}));
}

TEST(EvalUnique, RowsAndColumns) {
  const Tensor x = floats({3, 2}, {1, 0, 1, 0, 0, 5});
  EXPECT_THAT(list_floats(TestNode{"Unique", {{"axis", int64_t{0}}}, 11}.run({x})), ElementsAre(0, 5, 1, 0));
  EXPECT_EQ((TestNode{"Unique", {{"axis", int64_t{-1}}}, 11}.run({x}).shape), (Shape{3, 2}));
  EXPECT_EQ((TestNode{"Unique", {}, 11}.run({flags({3}, {1, 0, 1})}).shape), (Shape{2}));
  EXPECT_EQ((TestNode{"Unique", {}, 11}.run({floats({0}, {})}).shape), (Shape{0}));
}

TEST(EvalUnique, Compress) {
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(list_floats(TestNode{"Compress", {{"axis", int64_t{0}}}, 11}.run({x, flags({3}, {0, 1, 1})})), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(list_floats(TestNode{"Compress", {}, 11}.run({x, flags({5}, {0, 1, 0, 0, 1})})), ElementsAre(2, 5));
  EXPECT_THROW((TestNode{"Compress", {{"axis", int64_t{1}}}, 11}.run({x, flags({3}, {0, 1, 1})})), Error);
}

// A pool of 2, 3 and of the pairs 5 6 and 7 8.
TestNode vectorizer(const std::string& mode, int64_t shortest, int64_t skips) {
  return {"TfIdfVectorizer",
          {{"mode", mode},
           {"min_gram_length", shortest},
           {"max_gram_length", int64_t{2}},
           {"max_skip_count", skips},
           {"ngram_counts", Ints{0, 2}},
           {"ngram_indexes", Ints{0, 1, 2, 3}},
           {"pool_int64s", Ints{2, 3, 5, 6, 7, 8}},
           {"weights", std::vector<float>{0.5f, 1, 2, 4}}},
          9};
}

TEST(EvalUnique, TfIdfVectorizer) {
  const Tensor x = longs({6}, {2, 2, 5, 9, 6, 5});
  EXPECT_THAT(list_floats(vectorizer("TF", 1, 0).run({x})), ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(list_floats(vectorizer("TF", 1, 1).run({x})), ElementsAre(2, 0, 1, 0));
  EXPECT_THAT(list_floats(vectorizer("TF", 2, 1).run({x})), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(list_floats(vectorizer("IDF", 1, 1).run({x})), ElementsAre(0.5f, 0, 2, 0));
  EXPECT_THAT(list_floats(vectorizer("TFIDF", 1, 1).run({x})), ElementsAre(1, 0, 2, 0));
}

}  // namespace
}  // namespace deepgap
