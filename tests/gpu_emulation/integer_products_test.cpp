// Products of integers as the conformance suite has none: zero points by row, column and channel, factors that are computed, a range that
// several blocks look for.
#include "trial.h"

#include "../conformance/graph_builder.h"

#include <gtest/gtest.h>

#include <functional>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;
using Ints = std::vector<int64_t>;

Tensor bytes(Random& random, DataType type, const Shape& shape, int64_t low, int64_t high) {
  Tensor tensor = make_tensor(type, shape);
  for (auto& byte : writable<uint8_t>(tensor)) byte = static_cast<uint8_t>(random.between(low, high));
  return tensor;
}

ValueId levels(GraphBuilder& net, DataType type, const Shape& shape, int64_t low, int64_t high) {
  return net.constant(bytes(net.random(), type, shape, low, high));
}

using Build = std::function<ValueId(GraphBuilder&)>;
const std::vector<std::pair<std::string, Build>>& products() {
  constexpr auto u8 = DataType::u8, i8 = DataType::i8;
  static const std::vector<std::pair<std::string, Build>> all{
      {"zero points by column",
       [](GraphBuilder& net) {
         return net.node("MatMulInteger", {net.input({5, 20}, u8), levels(net, u8, {20, 7}, 100, 150), levels(net, u8, {}, 3, 9),
                                           levels(net, u8, {7}, 110, 140)});
       }},
      {"zero points by row",
       [](GraphBuilder& net) {
         return net.node("MatMulInteger", {net.input({5, 20}, u8), levels(net, i8, {20, 7}, 0, 90), levels(net, u8, {5}, 3, 9)});
       }},
      {"weights wider than a signed byte",
       [](GraphBuilder& net) {
         return net.node("MatMulInteger", {net.input({5, 20}, i8), levels(net, u8, {20, 7}, 0, 255), no_value, levels(net, u8, {}, 2, 9)});
       }},
      {"both computed",
       [](GraphBuilder& net) {
         return net.node("MatMulInteger", {net.input({5, 20}, u8), net.input({20, 7}, i8), levels(net, u8, {}, 2, 9)});
       }},
      {"large sums",
       [](GraphBuilder& net) {
         return net.node("MatMulInteger", {net.input({2, 2000}, u8), levels(net, u8, {2000, 3}, 200, 255), levels(net, u8, {}, 2, 9)});
       }},
      {"a convolution with zero points by channel",
       [](GraphBuilder& net) {
         return net.node(
             "ConvInteger",
             {net.input({4, 6, 7}, u8), levels(net, u8, {6, 2, 3, 3}, 100, 150), levels(net, u8, {}, 3, 9), levels(net, u8, {6}, 110, 140)},
             {{"pads", Ints{1, 2, 1, 0}}, {"group", int64_t{2}}, {"strides", Ints{2, 1}}});
       }},
      {"a convolution of a row",
       [](GraphBuilder& net) {
         return net.node("ConvInteger", {net.input({3, 9}, u8), levels(net, i8, {5, 3, 3}, 0, 90), levels(net, u8, {}, 3, 9)},
                         {{"pads", Ints{1, 1}}});
       }},
      {"a convolution of a volume",
       [](GraphBuilder& net) {
         return net.node("ConvInteger", {net.input({3, 4, 5, 6}, u8), levels(net, i8, {5, 3, 3, 2, 2}, 0, 90), levels(net, u8, {}, 3, 9)},
                         {{"pads", Ints{1, 1, 0, 0, 0, 1}}});
       }},
  };
  return all;
}

Graph dynamic_range(GraphBuilder& net) {
  const auto parts = net.nodes("DynamicQuantizeLinear", {net.node("Relu", {net.input({3, 50, 60})})}, 3);
  const ValueId back = net.node(
      "DequantizeLinear",
      {net.node("QuantizeLinear", {net.node("DequantizeLinear", {parts[0], parts[1], parts[2]}), parts[1], parts[2]}), parts[1], parts[2]});
  return net.finish({net.node("GlobalMaxPool", {back})});
}

void try_products(const GpuNumbers& numbers, const std::string& precision) {
  Trial trial({numbers, Integers::as_operators}, precision);
  Random random(seed());
  for (const auto& [name, build] : products()) {
    GraphBuilder net(random, 17);
    Graph graph = net.finish({build(net)});
    Samples samples = random_samples(random, graph, Trial::batch);
    trial.add(name, std::move(graph), std::move(samples));
  }
  trial.run(within_tolerance(precision));
  EXPECT_EQ(trial.computed(), products().size());
}

TEST(EmulatedIntegerProducts, Float32) { try_products({ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedIntegerProducts, Float16) { try_products({ComputeType::f16, Element::f16}, "fp16"); }

TEST(EmulatedIntegerProducts, ARangeOfManyElements) {
  Trial trial({{ComputeType::f32, Element::f32}, Integers::as_operators}, "fp32");
  Random random(seed());
  GraphBuilder net(random, 17);
  Graph graph = dynamic_range(net);
  Samples samples = random_samples(random, graph, Trial::batch);
  trial.add("a range", std::move(graph), std::move(samples));
  trial.run(within_tolerance("fp32"));
  EXPECT_EQ(trial.computed(), 1U);
}

}  // namespace
}  // namespace deepgap::gpu
