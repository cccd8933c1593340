#include "model/quantized_operators.h"

#include "model/eval/evaluator.h"
#include "model/eval/test_node.h"
#include "model/graph_tools.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Bytes = std::vector<uint8_t>;

Tensor bytes(Shape shape, const Bytes& values) { return tensor_of(DataType::u8, std::move(shape), values); }
Tensor signed_bytes(Shape shape, const std::vector<int8_t>& values) { return tensor_of(DataType::i8, std::move(shape), values); }
Tensor sums(Shape shape, const std::vector<int32_t>& values) { return tensor_of(DataType::i32, std::move(shape), values); }

// One node whose first input of each list is fed and whose other inputs are constants, written to a file and read again.
struct OneNode {
  Graph graph;

  OneNode(const std::string& op, const std::string& domain, const std::vector<Tensor>& inputs, const std::vector<size_t>& fed,
          std::map<std::string, Attribute> attributes = {}) {
    Node node{"the node", op, domain, {}, {}, std::move(attributes)};
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].data == nullptr) {
        node.inputs.push_back(no_value);
        continue;
      }
      Dims dims;
      for (const int64_t size : inputs[i].shape) dims.push_back({size, ""});
      const auto id = static_cast<ValueId>(graph.values.size());
      graph.values.push_back({"in" + std::to_string(i), inputs[i].type, dims});
      node.inputs.push_back(id);
      if (std::ranges::find(fed, i) != fed.end()) {
        graph.inputs.push_back(id);
      } else {
        graph.constants.emplace(id, inputs[i]);
      }
    }
    graph.values.push_back({"y", DataType::u8, std::nullopt});
    node.outputs = graph.outputs = {static_cast<ValueId>(graph.values.size() - 1)};
    graph.nodes.push_back(std::move(node));
    graph.opset = 13;
    const std::string file = write_onnx(graph);
    graph = parse_onnx(std::as_bytes(std::span(file)), "one.onnx", ".");
  }
  size_t count(const std::string& op) const {
    return static_cast<size_t>(std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.op == op && node.domain.empty(); }));
  }
  Tensor run(const std::vector<Tensor>& inputs) const { return evaluate(graph, inputs).at(0); }
};

TEST(QuantizedOperators, ConvolutionWithAScaleForEachOutput) {
  const Tensor x = bytes({1, 1, 3}, {10, 12, 14});
  const OneNode net("QLinearConv", "",
                    {x, floats({}, {0.5f}), bytes({}, {10}), signed_bytes({2, 1, 1}, {2, 4}), floats({2}, {1, 0.5f}),
                     signed_bytes({2}, {0, 0}), floats({}, {0.25f}), bytes({}, {3}), sums({2}, {2, 8})},
                    {0});
  EXPECT_EQ(net.count("DequantizeLinear"), 3U);
  EXPECT_EQ(net.count("Conv"), 1U);
  EXPECT_EQ(net.graph.nodes[3].name, "the node");
  // Numbers 0, 1, 2; weights 2 and 2; biases 2 * 0.5 and 8 * 0.25: 1, 3, 5 and 2, 4, 6 in quarters, plus 3.
  const Tensor y = net.run({x});
  EXPECT_EQ(y.type, DataType::u8);
  EXPECT_EQ(list<uint8_t>(y), (Bytes{7, 15, 23, 11, 19, 27}));
}

TEST(QuantizedOperators, Products) {
  const Tensor a = bytes({1, 2}, {3, 4}), b = bytes({2, 1}, {2, 5});
  const std::vector<Tensor> inputs{
      a, floats({}, {0.5f}), bytes({}, {1}), b, floats({}, {2}), bytes({}, {1}), floats({}, {1}), bytes({}, {0})};
  // (2 * 1 + 3 * 4) * 0.5 * 2
  EXPECT_EQ(list<uint8_t>(OneNode("QLinearMatMul", "", inputs, {0, 3}).run({a, b})), (Bytes{14}));
  const OneNode gemm(
      "QGemm", "com.microsoft",
      {a, floats({}, {0.5f}), bytes({}, {1}), b, floats({}, {2}), bytes({}, {1}), sums({1}, {3}), floats({}, {2}), bytes({}, {5})}, {0},
      {{"alpha", 2.0f}});
  // 2 * 14 + 3 * (2 * 0.5 * 2) = 34, in twos, plus 5
  EXPECT_EQ(list<uint8_t>(gemm.run({a})), (Bytes{22}));
}

TEST(QuantizedOperators, ProductWithoutAScaleStaysNumbers) {
  const Tensor a = bytes({1, 1}, {3});
  const OneNode net("QGemm", "com.microsoft",
                    {a, floats({}, {0.5f}), bytes({}, {1}), bytes({1, 1}, {4}), floats({}, {0.25f}), bytes({}, {1})}, {0});
  EXPECT_EQ(list_floats(net.run({a})), (std::vector<float>{0.75f}));
}

TEST(QuantizedOperators, SumsOfOneValueReadItsNumbersOnce) {
  const Tensor a = bytes({2}, {11, 12}), scale = floats({}, {0.5f}), zero = bytes({}, {10});
  OneNode net("QLinearAdd", "com.microsoft", {a, scale, zero, a, scale, zero, floats({}, {0.25f}), bytes({}, {1})}, {0, 3});
  EXPECT_EQ(list<uint8_t>(net.run({a, a})), (Bytes{5, 9}));
}

TEST(QuantizedOperators, OneInputAndJoins) {
  const Tensor x = bytes({1, 1, 2, 2}, {1, 2, 3, 4}), one = floats({}, {1}), zero = bytes({}, {0});
  EXPECT_EQ(list<uint8_t>(OneNode("QLinearGlobalAveragePool", "com.microsoft", {x, one, zero, floats({}, {0.5f}), zero}, {0},
                                  {{"channels_last", int64_t{0}}})
                              .run({x})),
            (Bytes{5}));
  const OneNode joined("QLinearConcat", "com.microsoft", {floats({}, {0.5f}), zero, x, one, zero, x, floats({}, {2}), zero}, {2, 5},
                       {{"axis", int64_t{3}}});
  EXPECT_EQ(list<uint8_t>(joined.run({x, x})), (Bytes{2, 4, 4, 8, 6, 8, 12, 16}));
}

// Four bytes were read of each.
TEST(QuantizedOperators, ScalesOfAnotherTypeAreNamed) {
  const Tensor a = bytes({1, 2}, {3, 4}), b = bytes({2, 1}, {2, 5}), zero = bytes({}, {1});
  try {
    const OneNode gemm("QGemm", "com.microsoft", {a, bytes({}, {1}), zero, b, bytes({}, {2}), zero, sums({1}, {3})}, {0});
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the scale 'in1' is uint8, not float32"), std::string::npos) << error.what();
  }
}

TEST(QuantizedOperators, WhatCannotBeSaidStays) {
  const Tensor x = bytes({1, 2, 2, 1}, {1, 2, 3, 4}), one = floats({}, {1}), zero = bytes({}, {0});
  const OneNode last("QLinearGlobalAveragePool", "com.microsoft", {x, one, zero, one, zero}, {0}, {{"channels_last", int64_t{1}}});
  ASSERT_EQ(last.graph.nodes.size(), 1U);
  EXPECT_EQ(last.graph.nodes[0].op, "QLinearGlobalAveragePool");
  EXPECT_EQ(OneNode("QLinearSigmoid", "com.microsoft", {x, one, zero, one}, {0}).graph.nodes.size(), 1U);
}

}  // namespace
}  // namespace deepgap
