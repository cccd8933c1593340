#include "worker/output_sketch.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

struct Outputs {
  Shape shape;
  std::vector<float> values;
  TensorView view() const { return {DataType::f32, shape, reinterpret_cast<const std::byte*>(values.data())}; }
};

Outputs normal_outputs(Shape shape, uint64_t seed) {
  Outputs outputs{std::move(shape), {}};
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  outputs.values.resize(static_cast<size_t>(element_count(outputs.shape)));
  for (float& value : outputs.values) value = normal(random);
  return outputs;
}

OutputSketch sketch(const Outputs& outputs, int64_t items = 1) {
  const TensorView view = outputs.view();
  return sketch_of({&view, 1}, items);
}

TEST(OutputSketch, TellsTheNoiseBetweenOutputsThatItDoesNotHold) {
  const Outputs exact = normal_outputs({1, 100'000}, 1);
  Outputs noisy = exact;
  const Outputs noise = normal_outputs({1, 100'000}, 2);
  for (size_t i = 0; i < noisy.values.size(); ++i) noisy.values[i] += 0.01F * noise.values[i];  // 40 dB
  EXPECT_EQ(difference_words(sketch(exact), sketch(exact), 60), "");
  EXPECT_EQ(difference_words(sketch(exact), sketch(noisy), 39), "");
  EXPECT_THAT(difference_words(sketch(exact), sketch(noisy), 41), HasSubstr("SQNR"));
  EXPECT_THAT(difference_words(sketch(exact), sketch(noise), 1), HasSubstr("differs"));
}

TEST(OutputSketch, IsOfTheFirstItemOfABatch) {
  const Outputs one = normal_outputs({1, 10}, 3);
  Outputs four = normal_outputs({4, 10}, 4);
  std::copy(one.values.begin(), one.values.end(), four.values.begin());
  EXPECT_EQ(difference_words(sketch(one, 1), sketch(four, 4), 100), "");
  EXPECT_THAT(difference_words(sketch(one, 1), sketch(four, 1), 10), HasSubstr("holds 40 numbers, the first arm's 10"));
}

TEST(OutputSketch, GoesThroughJsonAndIsNotTakenForGrantedThere) {
  const Outputs outputs = normal_outputs({1, 1000}, 5);
  EXPECT_EQ(difference_words(sketch(outputs), sketch_from_json(sketch_to_json(sketch(outputs))), 290), "");
  const auto of = [](const nlohmann::json& output) {
    return nlohmann::json{{"min_sqnr_db", 20}, {"outputs", nlohmann::json::array({output})}};
  };
  EXPECT_THROW(sketch_from_json(of({{"elements", 1}, {"buckets", {1, 2}}})), Error);
  EXPECT_THROW(sketch_from_json(of({{"elements", "x"}})), Error);
  EXPECT_THROW(sketch_from_json("x"), Error);
  OutputSketch none;
  none.min_sqnr_db = 20;
  EXPECT_TRUE(sketch_from_json(sketch_to_json(none)).outputs.empty());
  EXPECT_EQ(sketch_from_json(sketch_to_json(none)).min_sqnr_db, 20);
}

TEST(OutputSketch, WhatIsNoNumberOrAllZeroIsComparedToo) {
  Outputs zeros{{1, 3}, {0, 0, 0}}, ones{{1, 3}, {1, 1, 1}}, broken{{1, 3}, {NAN, INFINITY, 0}};
  EXPECT_EQ(difference_words(sketch(zeros), sketch(zeros), 60), "");
  EXPECT_NE(difference_words(sketch(zeros), sketch(ones), 10), "");
  EXPECT_NE(difference_words(sketch(ones), sketch(broken), 10), "");
  EXPECT_EQ(difference_words({}, sketch(ones), 60), "") << "nothing to compare with";
}

}  // namespace
}  // namespace deepgap
