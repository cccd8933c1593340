// From the last node to the first, as fuse_operators does, and for the same reason. What is left (an operator whose inputs or result have
// no integers) stays in floating point between explicit DequantizeLinear and QuantizeLinear nodes.
#include "engine/passes/chains.h"
#include "engine/passes/edit.h"
#include "engine/passes/quantization.h"
#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap {
namespace {

constexpr size_t none = SIZE_MAX;

ValueId other_operand(const Node& node, ValueId value) { return node.inputs[0] == value ? node.inputs[1] : node.inputs[0]; }

struct QuantizedChain {
  std::vector<size_t> dequantizers;
  std::vector<size_t> nodes;  // main operator and what follows, the quantizer included

  std::vector<size_t> all() const {
    std::vector<size_t> result = dequantizers;
    result.insert(result.end(), nodes.begin(), nodes.end());
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }
};

struct Finder {
  const Graph& graph;
  const std::vector<std::vector<size_t>>& readers;
  const std::vector<bool>& taken;
  const FusionRules& rules;
  std::vector<size_t> makers;  // per value: node index

  Finder(const Graph& g, const std::vector<std::vector<size_t>>& r, const std::vector<bool>& t, const FusionRules& f)
      : graph(g), readers(r), taken(t), rules(f) {
    makers.assign(g.values.size(), none);
    for (size_t i = 0; i < g.nodes.size(); ++i)
      for (ValueId id : g.nodes[i].outputs)
        if (id != no_value) makers[static_cast<size_t>(id)] = i;
  }

  // The DequantizeLinear that makes the value; none where it is made otherwise or its integers cannot be used.
  size_t dequantizer(ValueId id) const {
    const size_t maker = id == no_value ? none : makers[static_cast<size_t>(id)];
    return maker != none && is_dequantize(graph.nodes[maker]) && quantization_of(graph, graph.nodes[maker]) ? maker : none;
  }
  bool is_constant(size_t dequantizer) const { return constant_of(graph, graph.nodes[dequantizer].inputs[0]) != nullptr; }
  Quantization quantization(size_t node) const { return *quantization_of(graph, graph.nodes[node]); }
  size_t activation_dequantizer(ValueId id) const {
    const size_t found = dequantizer(id);
    return found != none && !is_constant(found) && quantization(found).per_tensor() ? found : none;
  }

  // The axis of the weights that lies along the result's channels.
  size_t channel_axis(const Node& main) const {
    if (main.op == "Conv") return 0;
    if (main.op == "ConvTranspose") return 1;
    if (main.op == "Gemm") return attribute_int(main, "transB", 0) != 0 ? 0 : 1;
    return graph.values[static_cast<size_t>(main.inputs[1])].dims.value_or(Dims(1)).size() - 1;
  }

  // Weights: int8 without zero point, one scale or one per output channel. A product of two activations: one scale.
  size_t factor_dequantizer(const Node& main) const {
    const size_t found = main.inputs.size() > 1 ? dequantizer(main.inputs[1]) : none;
    if (found == none) return none;
    const Quantization weights = quantization(found);
    if (!is_constant(found)) return main.op == "MatMul" && weights.per_tensor() && weights.type == DataType::i8 ? found : none;
    const bool zero = std::all_of(weights.zero_points.begin(), weights.zero_points.end(), [](int32_t z) { return z == 0; });
    if (weights.type != DataType::i8 || !zero) return none;
    const bool groups = main.op == "ConvTranspose" && attribute_int(main, "group", 1) != 1;
    return weights.per_tensor() || (weights.axis == channel_axis(main) && !groups) ? found : none;
  }

  // The node that alone reads the result of `index`; none where there are more readers or others.
  size_t only_reader(size_t index) const {
    const ValueId value = graph.nodes[index].outputs[0];
    const auto& reading = readers[static_cast<size_t>(value)];
    if (is_graph_output(graph, value) || reading.size() != 1 || taken[reading[0]]) return none;
    const Node& next = graph.nodes[reading[0]];
    const bool once = std::count(next.inputs.begin(), next.inputs.end(), value) == 1 && next.outputs.size() == 1;
    return once ? reading[0] : none;
  }
  bool ends_chain(size_t index) const {
    const auto quantization = is_quantize(graph.nodes[index]) ? quantization_of(graph, graph.nodes[index]) : std::nullopt;
    return quantization && quantization->per_tensor();
  }

  // Extends `chain` by what follows its last node: activations, constants per channel, one residual, one quantizer. A residual of integers
  // is used as such where the result becomes integers too.
  void follow(QuantizedChain& chain, bool dense) const {
    const Node& main = graph.nodes[chain.nodes[0]];
    size_t residual = none, residual_at = 0;
    bool numbers = false;  // a residual that is not integers
    while (chain.nodes.size() < rules.longest_chain) {
      const size_t index = only_reader(chain.nodes.back());
      if (index == none) break;
      const Node& next = graph.nodes[index];
      const ValueId value = graph.nodes[chain.nodes.back()].outputs[0];
      if (next.inputs[0] == value && ends_chain(index)) {
        if (dense && residual == none && follow_rounded_sum(chain, index)) return;
        if (numbers) return;  // the sum's input in memory is larger than the result: it is quantized in a step of its own
        chain.nodes.push_back(index);
        if (residual != none) chain.dequantizers.push_back(residual);
        return;
      }
      const bool activation = next.inputs[0] == value && activation_of(graph, next).has_value();
      const bool binary = dense && !activation && is_fusable_binary(graph, main, next, value);
      if (!activation && !binary) break;
      if (binary && constant_of(graph, other_operand(next, value)) == nullptr) {
        if (residual != none || numbers) break;
        residual = activation_dequantizer(other_operand(next, value));
        numbers = residual == none;
        residual_at = chain.nodes.size();
      }
      chain.nodes.push_back(index);
    }
    if (residual != none) chain.nodes.resize(residual_at);  // the result stays numbers: so does the sum
  }

  // QuantizeLinear -> DequantizeLinear -> Add of integers -> an activation or none -> QuantizeLinear: a residual sum of others' files,
  // which quantize the branch before it. `quantizer` is the first of them. False: nothing was added.
  bool follow_rounded_sum(QuantizedChain& chain, size_t quantizer) const {
    const size_t back = only_reader(quantizer);
    if (back == none || !is_dequantize(graph.nodes[back]) || quantization_of(graph, graph.nodes[back]) != quantization(quantizer))
      return false;
    const size_t sum = only_reader(back);
    if (sum == none || !is_onnx_op(graph.nodes[sum], "Add")) return false;
    const ValueId value = graph.nodes[back].outputs[0], other = other_operand(graph.nodes[sum], value);
    const size_t residual = activation_dequantizer(other);
    const auto dims = [&](ValueId id) { return graph.values[static_cast<size_t>(id)].dims; };
    if (residual == none || dims(value) != dims(other)) return false;
    std::vector<size_t> added{quantizer, back, sum};
    size_t last = only_reader(sum);
    if (last != none && activation_of(graph, graph.nodes[last])) {
      added.push_back(last);
      last = only_reader(last);
    }
    if (last == none || !ends_chain(last)) return false;
    added.push_back(last);
    chain.nodes.insert(chain.nodes.end(), added.begin(), added.end());
    chain.dequantizers.push_back(residual);
    return true;
  }

  bool is_quantized_at_end(const QuantizedChain& chain) const { return is_quantize(graph.nodes[chain.nodes.back()]); }

  std::optional<QuantizedChain> dense(size_t index) const {
    const Node& main = graph.nodes[index];
    const size_t source = activation_dequantizer(main.inputs[0]), factor = factor_dequantizer(main);
    if (source == none || factor == none) return std::nullopt;
    QuantizedChain chain{{source, factor}, {index}};
    follow(chain, true);
    return chain;
  }

  std::optional<QuantizedChain> addition(size_t index) const {
    const Node& main = graph.nodes[index];
    const auto dims = [&](ValueId id) { return graph.values[static_cast<size_t>(id)].dims; };
    const size_t first = activation_dequantizer(main.inputs[0]), second = activation_dequantizer(main.inputs[1]);
    if (first == none || second == none || dims(main.inputs[0]) != dims(main.inputs[1])) return std::nullopt;
    QuantizedChain chain{{first, second}, {index}};
    follow(chain, false);
    return is_quantized_at_end(chain) ? std::optional(chain) : std::nullopt;
  }

  std::optional<QuantizedChain> pool(size_t index) const {
    const size_t source = activation_dequantizer(graph.nodes[index].inputs[0]), next = only_reader(index);
    if (source == none || next == none || !ends_chain(next)) return std::nullopt;
    if (graph.nodes[index].op == "MaxPool" && quantization(source) != quantization(next)) return std::nullopt;
    return QuantizedChain{{source}, {index, next}};
  }

  std::optional<QuantizedChain> requantizing(size_t index) const {
    const size_t source = activation_dequantizer(graph.nodes[index].inputs[0]);
    if (source == none || !ends_chain(index)) return std::nullopt;
    return QuantizedChain{{source}, {index}};
  }

  std::optional<QuantizedChain> from(size_t index) const {
    const Node& node = graph.nodes[index];
    if (!node.domain.empty() || node.outputs.size() != 1 || node.inputs.empty() || !rules.with_integers.contains(node.op))
      return std::nullopt;
    if (is_dense_main(node)) return dense(index);
    if (node.op == "Add") return addition(index);
    if (node.op == "MaxPool" || node.op == "AveragePool" || node.op == "GlobalAveragePool") return pool(index);
    if (is_quantize(node)) return requantizing(index);
    return std::nullopt;
  }
};

}  // namespace

void fuse_quantized(Graph& graph, const FusionRules& rules) {
  const auto readers = consumers(graph);
  std::vector<bool> taken(graph.nodes.size(), false), erase(graph.nodes.size(), false);
  const Finder find(graph, readers, taken, rules);
  std::vector<QuantizedChain> chains;
  const auto collect = [&](bool dense) {  // a convolution gets the addition before the addition itself
    for (const size_t i : order_of_taking(graph, rules)) {
      if (taken[i] || is_dense_main(graph.nodes[i]) != dense) continue;
      const auto chain = find.from(i);
      if (!chain) continue;
      for (size_t index : chain->nodes) taken[index] = true;
      chains.push_back(*chain);
    }
  };
  collect(true);
  collect(false);
  std::vector<Node> fused;
  for (const auto& chain : chains) fused.push_back(fused_node(graph, nodes_at(graph, chain.all())));
  for (size_t c = 0; c < chains.size(); ++c) {
    for (size_t index : chains[c].nodes) erase[index] = true;
    erase[chains[c].nodes.back()] = false;
    graph.nodes[chains[c].nodes.back()] = std::move(fused[c]);
  }
  erase_nodes(graph, erase);  // dequantizers that nobody else reads are dead now
}

}  // namespace deepgap
