#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

void expect_near(const Tensor& got, const std::vector<float>& want) { EXPECT_THAT(list_floats(got), Pointwise(FloatNear(1e-5f), want)); }

TEST(EvalTransformer, RmsNormalization) {
  const TestNode node{"RMSNormalization", {{"epsilon", 0.0f}}, 23};
  expect_near(node.run({floats({1, 2}, {3, 4}), floats({2}, {1, 2})}), {0.848528f, 2.262742f});  // over the root of 12.5
  EXPECT_THROW(node.run({floats({1, 2}, {3, 4}), floats({3}, {1, 1, 1})}), Error);
}

// The pairs turn by a quarter turn.
TEST(EvalTransformer, RotaryEmbedding) {
  const Tensor x = floats({1, 1, 1, 4}, {1, 2, 3, 4}), cosine = floats({1, 1, 2}, {0, 0}), sine = floats({1, 1, 2}, {1, 1});
  EXPECT_THAT(list_floats(TestNode{"RotaryEmbedding", {}, 23}.run({x, cosine, sine})), ElementsAre(-3, -4, 1, 2));
  EXPECT_THAT(list_floats(TestNode{"RotaryEmbedding", {{"interleaved", int64_t{1}}}, 23}.run({x, cosine, sine})),
              ElementsAre(-2, 1, -4, 3));
  const TestNode part{"RotaryEmbedding", {{"rotary_embedding_dim", int64_t{2}}, {"num_heads", int64_t{1}}}, 23};
  const Tensor rows_of_cosine = floats({2, 1}, {1, 0}), rows_of_sine = floats({2, 1}, {0, 1});
  EXPECT_THAT(list_floats(part.run({floats({1, 1, 4}, {1, 2, 3, 4}), rows_of_cosine, rows_of_sine, longs({1, 1}, {1})})),
              ElementsAre(-2, 1, 3, 4));
  EXPECT_THROW(part.run({floats({1, 1, 4}, {1, 2, 3, 4}), rows_of_cosine, rows_of_sine, longs({1, 1}, {2})}), Error);
  EXPECT_THROW(part.run({floats({1, 1, 4}, {1, 2, 3, 4}), rows_of_cosine, rows_of_sine}), Error);
}

TEST(EvalTransformer, TensorScatter) {
  const Tensor cache = floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}), update = floats({2, 2, 1}, {10, 20, 30, 40});
  EXPECT_THAT(list_floats(TestNode{"TensorScatter", {}, 24}.run({cache, update, longs({2}, {1, 0})})), ElementsAre(1, 10, 20, 30, 40, 6));
  const TestNode circular{"TensorScatter", {{"mode", std::string("circular")}}, 24};
  EXPECT_THAT(list_floats(circular.run({cache, update, longs({2}, {2, 0})})), ElementsAre(20, 2, 10, 30, 40, 6));
  EXPECT_THROW((TestNode{"TensorScatter", {}, 24}.run({cache, update, longs({2}, {2, 0})})), Error);
  EXPECT_THROW((TestNode{"TensorScatter", {{"axis", int64_t{0}}}, 24}.run({cache, update})), Error);
}

TEST(EvalTransformer, SwishAndSwiGlu) {
  expect_near(TestNode{"Swish", {}, 24}.run({floats({3}, {0, 1, -1})}), {0, 0.731059f, -0.268941f});
  expect_near(TestNode{"Swish", {{"alpha", 2.0f}}, 24}.run({floats({1}, {1})}), {0.880797f});
  expect_near(TestNode{"SwiGLU", {}, 28}.run({floats({1}, {1}), floats({1}, {10})}), {7.31059f});
  EXPECT_THROW((TestNode{"SwiGLU", {}, 28}.run({floats({1}, {1}), floats({2}, {1, 1})})), Error);
}

// One head with keys and values of one number: the state is a number.
TestNode linear_attention(const std::string& rule) {
  return {"LinearAttention", {{"q_num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}, {"scale", 1.0f}, {"update_rule", rule}}, 27, 2};
}

TEST(EvalTransformer, LinearAttention) {
  const Tensor q = floats({1, 2, 1}, {1, 1}), k = floats({1, 2, 1}, {1, 2}), v = floats({1, 2, 1}, {3, 4});
  const Tensor halved = floats({1, 2, 1}, {-0.693147f, -0.693147f}), all = floats({1, 2, 1}, {1, 1});
  auto results = linear_attention("linear").run_all({q, k, v});
  expect_near(results[0], {3, 11});  // 3, 3 + 2 * 4
  expect_near(results[1], {11});
  expect_near(linear_attention("linear").run({q, k, v, floats({1, 1, 1, 1}, {100})}), {103, 111});
  expect_near(linear_attention("gated").run({q, k, v, Tensor{}, halved}), {3, 9.5f});
  expect_near(linear_attention("delta").run({q, k, v, Tensor{}, Tensor{}, all}), {3, -1});  // 3 + 2 * (4 - 2 * 3)
  EXPECT_THROW(linear_attention("gated").run({q, k, v}), Error);
  EXPECT_THROW(linear_attention("linear").run({q, k, v, Tensor{}, halved}), Error);
}

TEST(EvalTransformer, CausalConvWithState) {
  const TestNode node{"CausalConvWithState", {}, 27, 2};
  const Tensor x = floats({1, 1, 3}, {1, 2, 3}), weight = floats({1, 1, 2}, {10, 1});
  auto results = node.run_all({x, weight});
  EXPECT_THAT(list_floats(results[0]), ElementsAre(1, 12, 23));
  EXPECT_THAT(list_floats(results[1]), ElementsAre(3));
  EXPECT_THAT(list_floats(node.run({x, weight, floats({1}, {0.5f}), floats({1, 1, 1}, {4})})), ElementsAre(41.5f, 12.5f, 23.5f));
  EXPECT_THROW(node.run({x, weight, Tensor{}, floats({1, 1, 2}, {4, 4})}), Error);
}

TEST(EvalTransformer, CumulativeProduct) {
  const Tensor x = floats({3}, {2, 3, 4}), axis = longs({}, {0});
  EXPECT_THAT(list_floats(TestNode{"CumProd", {}, 26}.run({x, axis})), ElementsAre(2, 6, 24));
  EXPECT_THAT(list_floats(TestNode{"CumProd", {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}, 26}.run({x, axis})),
              ElementsAre(12, 4, 1));
}

}  // namespace
}  // namespace deepgap
