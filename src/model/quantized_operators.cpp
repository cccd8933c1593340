#include "model/quantized_operators.h"

#include "model/graph_tools.h"
#include "model/node_body.h"
#include "model/tensor_contents.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace deepgap {
namespace {

std::vector<float> floats_of(const Tensor& tensor, const std::string& name) {
  if (tensor.type != DataType::f32)
    throw Error(ErrorKind::input, fmt::format("the scale '{}' is {}, not float32", name, deepgap::name_of(tensor.type)));
  return contents<float>(tensor);
}

class Expander {
 public:
  explicit Expander(Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values) names_.insert(value.name);
  }

  // Takes up the next node; the functions below speak of it.
  void begin(const Node& node) {
    node_ = node;
    added_.clear();
  }
  const Node& node() const { return node_; }
  bool has(size_t input) const { return input < node_.inputs.size() && node_.inputs[input] != no_value; }
  ValueId input(size_t i) const {
    if (!has(i)) fail_node(node_, fmt::format("input {} is missing", i));
    return node_.inputs[i];
  }

  // The numbers that integers stand for, where the three are inputs one after the other. Several scales lie along `axis`.
  ValueId numbers(size_t first, int64_t axis = 0) {
    return dequantize(input(first), input(first + 1), has(first + 2) ? input(first + 2) : no_value, axis);
  }
  // int32 of zero point 0, such as a bias: its scale is the product of two inputs' and `factor`.
  ValueId bias(size_t at, size_t scale_a, size_t scale_b, float factor, int64_t axis) {
    return dequantize(input(at), product(input(scale_a), input(scale_b), factor), no_value, axis);
  }
  // The operator on numbers, with the node's attributes but for those named.
  Node& plain(const std::string& op, std::vector<ValueId> inputs, const std::set<std::string>& without = {}) {
    Node made{node_.name, op, "", std::move(inputs), node_.outputs, {}};
    for (const auto& [name, content] : node_.attributes)
      if (!without.contains(name)) made.attributes.emplace(name, content);
    return add(std::move(made));
  }
  // Rounds what the last node made.
  void quantize(size_t scale) {
    const ValueId number = new_value(name_of(node_.outputs[0]) + ".unrounded");
    added_.back().outputs = {number};
    add({name_of(number) + ".quantize", "QuantizeLinear", "", {number, input(scale), input(scale + 1)}, {node_.outputs[0]}, {}});
  }
  const std::vector<Node>& added() const { return added_; }

 private:
  const std::string& name_of(ValueId id) const { return graph_.values[static_cast<size_t>(id)].name; }
  Node& add(Node node) {
    added_.push_back(std::move(node));
    return added_.back();
  }

  ValueId new_value(const std::string& stem) {
    std::string name = stem;
    for (int i = 1; !names_.insert(name).second; ++i) name = stem + "." + std::to_string(i);
    graph_.values.push_back({name, DataType::f32, std::nullopt});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  ValueId dequantize(ValueId integers, ValueId scale, ValueId zero_point, int64_t axis) {
    const auto [known, is_new] = made_.emplace(std::tuple(integers, scale, zero_point), no_value);
    if (!is_new) return known->second;
    const ValueId number = known->second = new_value(name_of(integers) + ".dequantized");
    Node made{name_of(number), "DequantizeLinear", "", {integers, scale}, {number}, {}};
    if (zero_point != no_value) made.inputs.push_back(zero_point);
    // One scale needs no axis, which opsets before 13 do not have.
    const Tensor* scales = constant_of(graph_, scale);
    if (scales == nullptr || element_count(scales->shape) != 1) made.attributes["axis"] = axis;
    add(std::move(made));
    return number;
  }

  ValueId product(ValueId a, ValueId b, float factor) {
    const Tensor *left = constant_of(graph_, a), *right = constant_of(graph_, b);
    const ValueId result = new_value(name_of(a) + "." + name_of(b));
    if (left != nullptr && right != nullptr && element_count(left->shape) == 1) {
      Tensor scales = make_tensor(DataType::f32, right->shape);
      const float shared = factor * floats_of(*left, name_of(a))[0];
      const auto values = floats_of(*right, name_of(b));
      for (size_t i = 0; i < values.size(); ++i) writable<float>(scales)[i] = shared * values[i];
      Dims dims;
      for (const int64_t size : scales.shape) dims.push_back({size, ""});
      graph_.values[static_cast<size_t>(result)].dims = dims;
      graph_.constants.emplace(result, std::move(scales));
    } else {
      add({name_of(result), "Mul", "", {a, b}, {result}, {}});
    }
    return result;
  }

  Graph& graph_;
  std::set<std::string> names_;
  std::map<std::tuple<ValueId, ValueId, ValueId>, ValueId> made_;
  Node node_;
  std::vector<Node> added_;
};

// Each says what a node means, or answers false, before it has added anything, where it cannot be said.
using Expansion = bool (*)(Expander&);

bool scaling(Expander& at) {
  at.plain(at.node().op, at.node().inputs);
  return true;
}

bool conv(Expander& at) {
  if (!at.has(7) || attribute_int(at.node(), "channels_last", 0) != 0) return false;
  std::vector<ValueId> inputs{at.numbers(0), at.numbers(3)};
  if (at.has(8)) inputs.push_back(at.bias(8, 1, 4, 1, 0));
  at.plain("Conv", inputs, {"channels_last"});
  at.quantize(6);
  return true;
}

bool matmul(Expander& at) {
  if (!at.has(7)) return false;
  at.plain("MatMul", {at.numbers(0, -2), at.numbers(3, -1)});
  at.quantize(6);
  return true;
}

// If there is no scale for the result, it stays numbers.
bool gemm(Expander& at) {
  if (at.has(7) && !at.has(8)) return false;
  const bool turned = attribute_int(at.node(), "transB", 0) != 0;
  std::vector<ValueId> inputs{at.numbers(0), at.numbers(3, turned ? 0 : 1)};
  if (at.has(6)) inputs.push_back(at.bias(6, 1, 4, attribute_float(at.node(), "alpha", 1), -1));
  at.plain("Gemm", inputs);
  if (at.has(7)) at.quantize(7);
  return true;
}

bool binary(Expander& at, const char* op) {
  if (!at.has(7)) return false;
  at.plain(op, {at.numbers(0), at.numbers(3)});
  at.quantize(6);
  return true;
}

bool unary(Expander& at, const char* op) {
  if (!at.has(4) || attribute_int(at.node(), "channels_last", 0) != 0) return false;
  at.plain(op, {at.numbers(0)}, {"channels_last"});
  at.quantize(3);
  return true;
}

// The node says by which opset its axis counts: the last one means the same in all.
bool softmax(Expander& at) {
  if (!at.has(4) || attribute_int(at.node(), "axis", -1) != -1) return false;
  at.plain("Softmax", {at.numbers(0)}, {"opset", "axis"}).attributes["axis"] = int64_t{-1};
  at.quantize(3);
  return true;
}

bool concat(Expander& at) {
  if (!at.has(1)) return false;
  std::vector<ValueId> inputs;
  for (size_t i = 2; i + 1 < at.node().inputs.size(); i += 3) inputs.push_back(at.numbers(i));
  at.plain("Concat", inputs);
  at.quantize(0);
  return true;
}

bool where(Expander& at) {
  if (!at.has(8)) return false;
  at.plain("Where", {at.input(0), at.numbers(1), at.numbers(4)});
  at.quantize(7);
  return true;
}

const std::map<std::string, Expansion, std::less<>>& onnx_expansions() {
  static const std::map<std::string, Expansion, std::less<>> table{{"QLinearConv", conv}, {"QLinearMatMul", matmul}};
  return table;
}

const std::map<std::string, Expansion, std::less<>>& microsoft_expansions() {
  static const std::map<std::string, Expansion, std::less<>> table{
      {"DequantizeLinear", scaling},
      {"QGemm", gemm},
      {"QLinearAdd", [](Expander& at) { return binary(at, "Add"); }},
      {"QLinearAveragePool", [](Expander& at) { return unary(at, "AveragePool"); }},
      {"QLinearConcat", concat},
      {"QLinearConv", conv},
      {"QLinearGlobalAveragePool", [](Expander& at) { return unary(at, "GlobalAveragePool"); }},
      {"QLinearLeakyRelu", [](Expander& at) { return unary(at, "LeakyRelu"); }},
      {"QLinearMul", [](Expander& at) { return binary(at, "Mul"); }},
      {"QLinearSigmoid", [](Expander& at) { return unary(at, "Sigmoid"); }},
      {"QLinearSoftmax", softmax},
      {"QLinearWhere", where},
      {"QuantizeLinear", scaling},
  };
  return table;
}

Expansion expansion_of(const Node& node) {
  if (!node.domain.empty() && node.domain != "com.microsoft") return nullptr;
  const auto& table = node.domain.empty() ? onnx_expansions() : microsoft_expansions();
  const auto found = table.find(node.op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

void expand_quantized_operators(Graph& graph) {
  Expander expander(graph);
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    expander.begin(node);
    const Expansion expand = expansion_of(node);
    const bool expanded = expand != nullptr && node.outputs.size() == 1 && node.inputs.size() > 1 && expand(expander);
    if (expanded) {
      nodes.insert(nodes.end(), expander.added().begin(), expander.added().end());
    } else {
      nodes.push_back(node);
    }
  }
  graph.nodes = std::move(nodes);
}

std::vector<std::string> quantized_operators() {
  std::set<std::string> names;
  for (const auto* table : {&onnx_expansions(), &microsoft_expansions()})
    for (const auto& [name, expansion] : *table) names.insert(name);
  return {names.begin(), names.end()};
}

}  // namespace deepgap
