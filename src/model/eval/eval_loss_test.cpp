#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using testing::ElementsAre;

TestNode loss(const std::string& reduction, std::map<std::string, Attribute> attributes = {}) {
  attributes.emplace("reduction", reduction);
  return {"NegativeLogLikelihoodLoss", std::move(attributes), 13};
}

TEST(EvalLoss, NegativeLogLikelihood) {
  const Tensor x = floats({2, 2}, {-1, -2, -3, -4}), target = longs({2}, {1, 0});
  EXPECT_THAT(list_floats(loss("none").run({x, target})), ElementsAre(2, 3));
  EXPECT_THAT(list_floats(loss("sum").run({x, target})), ElementsAre(5));
  EXPECT_THAT(list_floats(loss("mean").run({x, target})), ElementsAre(2.5f));
  EXPECT_THAT(list_floats(loss("mean").run({x, target, floats({2}, {1, 3})})), ElementsAre(2.25f));  // (3 * 2 + 1 * 3) / 4
  EXPECT_THAT(list_floats(loss("mean", {{"ignore_index", int64_t{1}}}).run({x, target})), ElementsAre(3));
  EXPECT_THROW(loss("mean").run({x, longs({2}, {1, 2})}), Error);
  EXPECT_THROW(loss("mean").run({x, longs({3}, {1, 0, 0})}), Error);
  EXPECT_THROW(loss("most").run({x, target}), Error);
}

// With scores 0 and ln 3 the second class has a probability of 3/4.
TEST(EvalLoss, SoftmaxCrossEntropy) {
  const TestNode node{"SoftmaxCrossEntropyLoss", {}, 13, 2};
  const auto results = node.run_all({floats({1, 2}, {0, std::log(3.0f)}), longs({1}, {1})});
  EXPECT_NEAR(results[0].as<float>()[0], 0.287682f, 1e-6f);
  EXPECT_NEAR(results[1].as<float>()[0], -1.386294f, 1e-6f);
}

}  // namespace
}  // namespace deepgap
