// Shape rules against what the evaluator makes: type and sizes of every output, with all sizes known and with those left open that data
// decide.
#include "model/eval/evaluator.h"
#include "model/eval/test_node.h"
#include "model/graph_tools.h"

#include <gtest/gtest.h>

#include <ostream>
#include <set>

namespace deepgap {
namespace {

struct Ruled {
  std::string op;
  int opset;
  std::map<std::string, Attribute> attributes;
  std::vector<Tensor> inputs;
  std::set<size_t> constant;  // inputs that decide sizes
  size_t outputs = 1;
};
void PrintTo(const Ruled& one, std::ostream* out) { *out << one.op << " of opset " << one.opset; }

Graph graph_of(const Ruled& one, bool with_constants) {
  Graph graph;
  graph.opset = one.opset;
  Node node{"tested", one.op, "", {}, {}, one.attributes};
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    if (!one.inputs[i].data) {
      node.inputs.push_back(no_value);
      continue;
    }
    Dims dims;
    for (const int64_t size : one.inputs[i].shape) dims.push_back({size, ""});
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({"x" + std::to_string(i), one.inputs[i].type, dims});
    node.inputs.push_back(id);
    if (with_constants && one.constant.contains(i))
      graph.constants[id] = one.inputs[i];
    else
      graph.inputs.push_back(id);
  }
  for (size_t i = 0; i < one.outputs; ++i) {
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({"y" + std::to_string(i), DataType::f32, std::nullopt});
    node.outputs.push_back(id);
    graph.outputs.push_back(id);
  }
  graph.nodes.push_back(node);
  infer_shapes(graph);
  return graph;
}

class RuledOperator : public testing::TestWithParam<Ruled> {};

TEST_P(RuledOperator, MakesWhatItsRuleSays) {
  const Ruled& one = GetParam();
  for (const bool with_constants : {true, false}) {
    const Graph graph = graph_of(one, with_constants);
    const auto made = evaluate_node(graph, graph.nodes[0], one.inputs);
    ASSERT_GE(made.size(), one.outputs);
    for (size_t i = 0; i < one.outputs; ++i) {
      const Value& value = graph.values[static_cast<size_t>(graph.outputs[i])];
      EXPECT_EQ(value.type, made[i].type) << "output " << i;
      if (!value.dims) {
        EXPECT_FALSE(with_constants || one.constant.empty()) << "output " << i << " has no rank";
        continue;
      }
      ASSERT_EQ(value.dims->size(), made[i].shape.size()) << "output " << i;
      for (size_t k = 0; k < made[i].shape.size(); ++k)
        if ((*value.dims)[k].known()) EXPECT_EQ((*value.dims)[k].size, made[i].shape[k]) << "output " << i << ", axis " << k;
    }
  }
}

Tensor ones(Shape shape) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  std::ranges::fill(writable<float>(tensor), 1.0f);
  return tensor;
}
Attribute number(int64_t value) { return value; }
Attribute text(const char* value) { return std::string(value); }

std::vector<Ruled> cases() {
  const std::map<std::string, Attribute> heads{{"q_num_heads", number(4)}, {"kv_num_heads", number(2)}};
  const Tensor four = ones({1, 4, 3, 5}), two = ones({1, 2, 6, 5}), gate = ones({2, 3, 2});
  return {
      {"Attention", 23, {}, {four, two, ones({1, 2, 6, 7}), Tensor{}, ones({1, 2, 4, 5}), ones({1, 2, 4, 7})}, {}, 4},
      {"Attention", 23, heads, {ones({2, 3, 20}), ones({2, 6, 10}), ones({2, 6, 14})}, {}, 4},
      {"LinearAttention",
       27,
       {{"q_num_heads", number(4)}, {"kv_num_heads", number(2)}, {"update_rule", text("delta")}},
       {ones({2, 3, 20}), ones({2, 3, 10}), ones({2, 3, 14}), Tensor{}, Tensor{}, gate},
       {},
       2},
      {"CausalConvWithState", 27, {}, {ones({2, 3, 5}), ones({3, 1, 4})}, {}, 2},
      {"RMSNormalization", 23, {}, {four, ones({5})}},
      {"RotaryEmbedding", 23, {}, {ones({1, 2, 3, 4}), ones({1, 3, 2}), ones({1, 3, 2})}},
      {"TensorScatter", 24, {}, {four, ones({1, 4, 2, 5})}},
      {"Swish", 24, {}, {four}},
      {"SwiGLU", 28, {}, {four, four}},
      {"CumProd", 26, {}, {four, longs({}, {0})}},
      {"BitCast", 26, {{"to", number(6)}}, {four}},
      {"NegativeLogLikelihoodLoss", 13, {{"reduction", text("none")}}, {ones({2, 3, 4}), longs({2, 4}, Ints(8, 1))}},
      {"NegativeLogLikelihoodLoss", 13, {}, {ones({2, 3}), longs({2}, {1, 2})}},
      {"SoftmaxCrossEntropyLoss", 13, {}, {ones({2, 3}), longs({2}, {1, 2})}, {}, 2},
      {"DFT", 20, {{"onesided", number(1)}}, {ones({2, 5, 1})}},
      {"DFT", 20, {}, {ones({2, 5, 2}), longs({}, {8}), longs({}, {1})}, {1, 2}},
      {"DFT", 17, {{"axis", number(1)}, {"inverse", number(1)}, {"onesided", number(1)}}, {ones({2, 5, 2})}},
      {"STFT", 17, {}, {ones({1, 16, 1}), longs({}, {3}), ones({6})}, {1}},
      {"STFT", 17, {{"onesided", number(0)}}, {ones({1, 16, 1}), longs({}, {3}), Tensor{}, longs({}, {5})}, {1, 3}},
      {"HannWindow", 17, {}, {longs({}, {7})}, {0}},
      {"BlackmanWindow", 17, {{"output_datatype", number(11)}}, {longs({}, {7})}, {0}},
      {"MelWeightMatrix", 17, {}, {longs({}, {4}), longs({}, {16}), longs({}, {8000}), floats({}, {100}), floats({}, {3000})}, {0, 1}},
      {"Unique", 11, {}, {four}, {}, 4},
      {"Unique", 11, {{"axis", number(1)}}, {four}, {}, 4},
      {"Compress", 11, {{"axis", number(1)}}, {four, flags({4}, {0, 1, 0, 1})}},
      {"TfIdfVectorizer",
       9,
       {{"ngram_counts", Ints{0}}, {"ngram_indexes", Ints{0, 4}}, {"pool_int64s", Ints{1, 2}}},
       {longs({2, 3}, {1, 2, 3, 1, 1, 1})}},
      {"Col2Im", 18, {}, {ones({2, 12, 4}), longs({2}, {3, 3}), longs({2}, {2, 2})}, {1, 2}},
      {"MaxUnpool",
       11,
       {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
       {ones({1, 1, 2, 3}), longs({1, 1, 2, 3}, {0, 2, 4, 12, 14, 16})}},
      {"MaxUnpool",
       11,
       {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}},
       {ones({1, 1, 2}), longs({1, 1, 2}, {0, 2}), longs({3}, {1, 1, 5})},
       {2}},
      {"CenterCropPad", 18, {{"axes", Ints{1, -1}}}, {four, longs({2}, {2, 9})}, {1}},
      {"Det", 11, {}, {ones({2, 3, 4, 4})}},
      {"RoiAlign",
       16,
       {{"output_height", number(2)}, {"output_width", number(3)}},
       {ones({1, 2, 8, 8}), ones({5, 4}), longs({5}, {0, 0, 0, 0, 0})}},
      {"DeformConv", 19, {}, {ones({1, 2, 4, 4}), ones({3, 2, 2, 2}), ones({1, 8, 3, 3})}},
      {"AffineGrid", 20, {}, {ones({2, 3, 4}), longs({5}, {2, 1, 3, 4, 5})}, {1}},
      {"DequantizeLinear", 23, {{"output_dtype", number(10)}}, {tensor_of<int8_t>(DataType::i8, {2}, {1, 2}), floats({}, {2})}},
      {"MaxPool", 12, {{"kernel_shape", Ints{2, 2}}}, {four}, {}, 2},
      {"BatchNormalization", 15, {{"training_mode", number(1)}}, {four, ones({4}), ones({4}), ones({4}), ones({4})}, {}, 3},
  };
}

INSTANTIATE_TEST_SUITE_P(All, RuledOperator, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.op + std::to_string(info.index); });

}  // namespace
}  // namespace deepgap
