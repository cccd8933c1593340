#include "model/eval/half.h"
#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

const float ln3 = std::log(3.0f);

// One query of one value that meets keys 0 and ln 3, scale 1: a quarter of the first value and three quarters of the second.
TestNode attention(std::map<std::string, Attribute> attributes = {}, size_t outputs = 1) {
  attributes.emplace("scale", 1.0f);
  return {"Attention", std::move(attributes), 25, outputs};
}
Tensor query() { return floats({1, 1, 1, 1}, {1}); }
Tensor keys() { return floats({1, 1, 2, 1}, {0, ln3}); }
Tensor values() { return floats({1, 1, 2, 1}, {4, 8}); }

void expect_near(const Tensor& got, const std::vector<float>& want) { EXPECT_THAT(list_floats(got), Pointwise(FloatNear(1e-5f), want)); }

TEST(EvalAttention, WeighsValuesBySoftmax) {
  expect_near(attention().run({query(), keys(), values()}), {7});
  // By default a score is divided by the root of the head's size.
  const Tensor q = floats({1, 1, 1, 4}, {2, 0, 0, 0}), k = floats({1, 1, 2, 4}, {0, 0, 0, 0, ln3, 0, 0, 0});
  expect_near(TestNode{"Attention", {}, 23}.run({q, k, floats({1, 1, 2, 1}, {4, 8})}), {7});
}

TEST(EvalAttention, MasksAndARowWithoutKeys) {
  expect_near(attention().run({query(), keys(), values(), flags({1, 2}, {1, 0})}), {4});
  expect_near(attention().run({query(), keys(), values(), floats({1, 2}, {ln3, 0})}), {6});
  expect_near(attention().run({query(), keys(), values(), flags({1, 2}, {0, 0})}), {0});
  // A mask that ends early hides the rest.
  expect_near(attention().run({query(), keys(), values(), flags({1, 1}, {1})}), {4});
}

TEST(EvalAttention, CausalOverACache) {
  const Tensor past_key = floats({1, 1, 1, 1}, {0}), past_value = floats({1, 1, 1, 1}, {4});
  const auto results = attention({{"is_causal", int64_t{1}}}, 3)
                           .run_all({query(), floats({1, 1, 1, 1}, {ln3}), floats({1, 1, 1, 1}, {8}), Tensor{}, past_key, past_value});
  expect_near(results[0], {7});
  EXPECT_EQ(results[1].shape, (Shape{1, 1, 2, 1}));
  EXPECT_THAT(list_floats(results[2]), ElementsAre(4, 8));
  // Without a cache the first query sees the first key alone.
  expect_near(attention({{"is_causal", int64_t{1}}}).run({floats({1, 1, 2, 1}, {1, 1}), keys(), values()}), {4, 7});
}

TEST(EvalAttention, PaddingAndWindows) {
  const Tensor q = floats({1, 1, 2, 1}, {1, 1});
  expect_near(attention().run({q, keys(), values(), Tensor{}, Tensor{}, Tensor{}, longs({1}, {1})}), {4, 4});
  expect_near(attention({{"left_window_size", int64_t{0}}}).run({q, keys(), values()}), {7, 8});
  expect_near(attention({{"right_window_size", int64_t{0}}}).run({q, keys(), values()}), {4, 7});
}

// Two heads of queries share one of keys; packed into the last axis and not.
TEST(EvalAttention, HeadsInGroups) {
  const std::map<std::string, Attribute> heads{{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}};
  expect_near(attention(heads).run({floats({1, 1, 2}, {1, 0}), floats({1, 2, 1}, {0, ln3}), floats({1, 2, 1}, {4, 8})}), {7, 6});
  expect_near(attention().run({floats({1, 2, 1, 1}, {1, 0}), keys(), values()}), {7, 6});
}

TEST(EvalAttention, ShowsItsScores) {
  const auto shown = [](int64_t mode) {
    return attention({{"qk_matmul_output_mode", mode}, {"softcap", 1.0f}}, 4)
        .run_all({query(), keys(), values(), floats({1, 2}, {1, 0})})[3];
  };
  expect_near(shown(0), {0, ln3});
  expect_near(shown(1), {0, 0.8f});  // tanh(ln 3)
  expect_near(shown(2), {1, 0.8f});
  expect_near(shown(3), {0.549834f, 0.450166f});
}

TEST(EvalAttention, WhatDoesNotFit) {
  EXPECT_THROW(attention().run({query(), floats({1, 1, 2, 2}, {0, 0, 0, 0}), values()}), Error);
  EXPECT_THROW(attention().run({query(), keys(), floats({1, 1, 1, 1}, {4})}), Error);
  EXPECT_THROW(attention().run({query(), keys(), values(), flags({1, 3}, {1, 1, 1})}), Error);
  EXPECT_THROW(attention().run({query(), keys(), values(), Tensor{}, keys()}), Error);
  EXPECT_THROW(attention().run({query(), keys(), values(), Tensor{}, Tensor{}, Tensor{}, longs({2}, {1, 1})}), Error);
}

}  // namespace
}  // namespace deepgap
