#include "model/eval/evaluator.h"

#include "model/eval/parallel.h"
#include "model/eval/test_node.h"
#include "model/usual_operators.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace deepgap {
namespace {

// x -> Relu -> a, Add(a, x) -> y; outputs y and a.
Graph small_graph() {
  Graph graph;
  graph.name = "small";
  for (const char* name : {"x", "a", "y"}) graph.values.push_back({name, DataType::f32, Dims{{1, batch_symbol}, {2, ""}}});
  graph.nodes = {{"relu", "Relu", "", {0}, {1}, {}}, {"add", "Add", "", {1, 0}, {2}, {}}};
  graph.inputs = {0};
  graph.outputs = {2, 1};
  return graph;
}

TEST(Evaluator, RunsAGraphAtAnyBatch) {
  const Tensor x = floats({2, 2}, {-1, 2, 3, -4});
  const auto outputs = evaluate(small_graph(), std::span(&x, 1));
  EXPECT_EQ(list_floats(outputs[0]), (std::vector<float>{-1, 4, 6, -4}));
  EXPECT_EQ(list_floats(outputs[1]), (std::vector<float>{0, 2, 3, 0}));
}

TEST(Evaluator, ShowsEveryValueOnce) {
  const Tensor x = floats({1, 2}, {-1, 2});
  std::vector<ValueId> seen;
  evaluate(small_graph(), std::span(&x, 1), [&](ValueId id, const Tensor&) { seen.push_back(id); });
  EXPECT_EQ(seen, (std::vector<ValueId>{0, 1, 2}));
}

TEST(Evaluator, RefusesWhatItDoesNotHaveByName) {
  Graph graph = small_graph();
  graph.nodes[0].op = "Frobnicate";
  const Tensor x = floats({1, 2}, {-1, 2});
  try {
    evaluate(graph, std::span(&x, 1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("relu"), testing::HasSubstr("Frobnicate")));
  }
  graph.nodes[0].op = "Relu";
  graph.nodes[0].domain = "com.example";
  EXPECT_THROW(evaluate(graph, std::span(&x, 1)), Error);
}

TEST(Evaluator, MissingInputsAreErrors) {
  EXPECT_THROW(evaluate(small_graph(), {}), Error);
  EXPECT_THROW(TestNode{"Add"}.run({floats({1}, {1}), Tensor{}}), Error);
  EXPECT_THROW(TestNode{"Add"}.run({}), Error);
}

TEST(Evaluator, KnowsTheOperatorsOfTheZooAndMore) {
  const auto names = evaluated_operators();
  std::vector<std::string> expected = usual_operators();
  expected.insert(expected.end(), {"Constant"});
  for (const std::string& name : expected) EXPECT_TRUE(std::ranges::binary_search(names, name)) << name;
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

TEST(ParallelFor, RunsEveryItemOnce) {
  for (int threads : {1, 2, 7}) {
    set_evaluator_threads(threads);
    std::vector<std::atomic<int>> counts(1000);
    parallel_for(1000, 1e6, [&](int64_t i) { ++counts[i]; });
    for (const auto& count : counts) EXPECT_EQ(count, 1);
  }
  set_evaluator_threads(0);
}

TEST(ParallelFor, PassesOnTheFirstError) {
  set_evaluator_threads(3);
  EXPECT_THROW(parallel_for(100, 1e6, [](int64_t) { throw Error(ErrorKind::internal, "x"); }), Error);
  set_evaluator_threads(0);
}

}  // namespace
}  // namespace deepgap
