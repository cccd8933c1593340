#include "worker/run_graph.h"

#include <gtest/gtest.h>

#include <vector>

namespace deepgap {
namespace {

Tensor row(Shape shape, const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

TensorInfo input(const std::string& name, const Dims& dims) { return {name, DataType::f32, dims}; }

std::vector<float> floats(const TensorView& view) {
  const auto values = view.as<float>();
  return {values.begin(), values.end()};
}

const Dim open{1, batch_symbol};

TEST(Batching, is_told_by_all_inputs_together) {
  const auto kind = [](const std::vector<TensorInfo>& inputs) { return batching_of(inputs).kind; };
  EXPECT_EQ(kind({input("x", {open, {3, ""}}), input("y", {open})}), Batching::Kind::open);
  EXPECT_EQ(kind({input("x", {{2, ""}, {3, ""}}), input("y", {{2, ""}})}), Batching::Kind::fixed);
  EXPECT_EQ(batching_of(std::vector<TensorInfo>{input("x", {{2, ""}, {3, ""}})}).samples, 2);
  EXPECT_EQ(kind({input("x", {{2, ""}, {3, ""}}), input("y", {{1, ""}})}), Batching::Kind::whole) << "batches of 2 and 1";
  EXPECT_EQ(kind({input("x", {open, {3, ""}}), input("h", {{1, ""}})}), Batching::Kind::whole) << "a state";
  EXPECT_EQ(kind({input("x", {open, {3, ""}}), input("s", {})}), Batching::Kind::whole) << "a scalar";
  EXPECT_EQ(kind({input("x", {{0, ""}, {3, ""}})}), Batching::Kind::whole) << "no sample at all";
  EXPECT_EQ(kind({}), Batching::Kind::whole);
}

TEST(Batching, refuses_other_batches) {
  const Batching fixed{Batching::Kind::fixed, 4};
  EXPECT_TRUE(fixed.takes(4));
  EXPECT_FALSE(fixed.takes(1));
  EXPECT_EQ(batching_text(fixed), "has a fixed batch of 4");
  EXPECT_TRUE((Batching{Batching::Kind::open, 1}.takes(7)));
  EXPECT_TRUE(Batching{}.takes(1));
  EXPECT_FALSE(Batching{}.takes(2));
}

// Two inputs and a fixed batch of 3: a scalar beside it once made room for one sample and took three.
TEST(Queries, of_a_fixed_batch_join_samples_in_turn) {
  const std::vector<Tensor> x{row({1, 2}, {1, 2}), row({1, 2}, {3, 4})}, y{row({1}, {5}), row({1}, {6})};
  const std::vector<std::vector<TensorView>> samples{{x[0].view(), y[0].view()}, {x[1].view(), y[1].view()}};
  const Queries queries({Batching::Kind::fixed, 3}, samples);
  ASSERT_EQ(queries.inputs().size(), 1U);
  EXPECT_EQ(floats(queries.inputs()[0][0]), (std::vector<float>{1, 2, 3, 4, 1, 2}));
  EXPECT_EQ(floats(queries.inputs()[0][1]), (std::vector<float>{5, 6, 5}));
  EXPECT_EQ(Shape(queries.inputs()[0][0].shape.begin(), queries.inputs()[0][0].shape.end()), (Shape{3, 2}));
}

TEST(Queries, of_other_networks_are_the_samples) {
  const Tensor x = row({2, 2}, {1, 2, 3, 4}), scalar = row({}, {7});
  const std::vector<std::vector<TensorView>> samples{{x.view(), scalar.view()}};
  const Queries queries(Batching{}, samples);
  ASSERT_EQ(queries.inputs().size(), 1U);
  EXPECT_EQ(queries.inputs()[0][0].data, x.data.get());
}

TEST(QuerySamples, divide_what_the_batch_divides) {
  const Tensor x = row({3, 2}, {1, 2, 3, 4, 5, 6}), y = row({3}, {7, 8, 9});
  const QuerySamples fixed({input("x", {{3, ""}, {2, ""}}), input("y", {{3, ""}})}, {x.view(), y.view()});
  ASSERT_EQ(fixed.samples().size(), 3U);
  EXPECT_EQ(floats(fixed.samples()[1][0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(floats(fixed.samples()[2][1]), (std::vector<float>{9}));
  const QuerySamples of_open({input("x", {open, {2, ""}}), input("y", {open})}, {x.view(), y.view()});
  EXPECT_EQ(of_open.samples().size(), 3U);
  const Tensor state = row({1, 2}, {1, 2});
  const QuerySamples whole({input("x", {{3, ""}, {2, ""}}), input("h", {{1, ""}, {2, ""}})}, {x.view(), state.view()});
  ASSERT_EQ(whole.samples().size(), 1U);
  EXPECT_EQ(floats(whole.samples()[0][0]).size(), 6U);
}

}  // namespace
}  // namespace deepgap
