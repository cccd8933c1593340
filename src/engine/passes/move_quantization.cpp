// Each rewrite is exact: layout operators move integers as they move numbers; the largest of quantized numbers is the largest quantized
// number; quantizing what DequantizeLinear gave, with the same scale and zero point, gives the integers back.
#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "engine/passes/quantization.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace deepgap {
namespace {

bool is_layout(const Node& node) {
  static const std::set<std::string_view> names{"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  return node.domain.empty() && names.contains(node.op) && node.outputs.size() == 1;
}

bool is_max_pool(const Node& node) { return is_onnx_op(node, "MaxPool") && node.outputs.size() == 1; }

std::optional<Quantization> per_tensor(const Graph& graph, const Node& node) {
  auto result = quantization_of(graph, node);
  return result && result->per_tensor() ? result : std::nullopt;
}

struct Mover {
  Graph& graph;

  Value& value(ValueId id) const { return graph.values[static_cast<size_t>(id)]; }
  ptrdiff_t maker(ValueId id) const {  // -1: none
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (std::find(graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end(), id) != graph.nodes[i].outputs.end())
        return static_cast<ptrdiff_t>(i);
    return -1;
  }
  std::vector<size_t> readers(ValueId id) const {
    std::vector<size_t> result;
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (std::count(graph.nodes[i].inputs.begin(), graph.nodes[i].inputs.end(), id) > 0) result.push_back(i);
    return result;
  }
  bool read_by_one(ValueId id) const { return !is_graph_output(graph, id) && readers(id).size() == 1; }

  ValueId new_value(const std::string& stem, ValueId like, DataType type) { return add_value(graph, stem, type, value(like).dims); }
  // A copy of `pattern` that reads `from` and makes a new value or `to`.
  Node copy_of(const Node& pattern, ValueId from, ValueId to) const {
    Node node = pattern;
    node.name += "." + value(to).name;
    node.inputs[0] = from;
    node.outputs = {to};
    return node;
  }
  void insert(size_t at, Node node) { graph.nodes.insert(graph.nodes.begin() + static_cast<ptrdiff_t>(at), std::move(node)); }

  // x -> DequantizeLinear -> QuantizeLinear of the same kind: x.
  bool cancel(size_t index) {
    const Node& node = graph.nodes[index];
    if (!is_quantize(node) || is_graph_output(graph, node.outputs[0])) return false;
    const ptrdiff_t before = maker(node.inputs[0]);
    if (before < 0 || !is_dequantize(graph.nodes[static_cast<size_t>(before)])) return false;
    const auto from = per_tensor(graph, graph.nodes[static_cast<size_t>(before)]), to = per_tensor(graph, node);
    if (!from || from != to) return false;
    const ValueId integers = graph.nodes[static_cast<size_t>(before)].inputs[0], out = node.outputs[0];
    graph.nodes.erase(graph.nodes.begin() + static_cast<ptrdiff_t>(index));
    replace_uses(graph, out, integers);
    return true;
  }

  // Two quantizers of the same value that do the same.
  bool merge(size_t index) {
    const Node& node = graph.nodes[index];
    const auto mine = is_quantize(node) ? quantization_of(graph, node) : std::nullopt;
    if (!mine || is_graph_output(graph, node.outputs[0])) return false;
    for (size_t other = 0; other < index; ++other) {
      const Node& first = graph.nodes[other];
      if (!is_quantize(first) || first.inputs[0] != node.inputs[0] || quantization_of(graph, first) != mine) continue;
      const ValueId out = node.outputs[0], kept = first.outputs[0];
      graph.nodes.erase(graph.nodes.begin() + static_cast<ptrdiff_t>(index));
      replace_uses(graph, out, kept);
      return true;
    }
    return false;
  }

  // op -> QuantizeLinear becomes QuantizeLinear -> op.
  bool quantize_earlier(size_t index) {
    const auto quantization = is_quantize(graph.nodes[index]) ? per_tensor(graph, graph.nodes[index]) : std::nullopt;
    if (!quantization) return false;
    const ValueId between = graph.nodes[index].inputs[0];
    const ptrdiff_t found = maker(between);
    if (found < 0 || !read_by_one(between)) return false;
    const auto before = static_cast<size_t>(found);
    const Node& op = graph.nodes[before];
    if (is_layout(op)) {
      swap_with_quantizer(before, index);
      return true;
    }
    if (is_onnx_op(op, "Concat")) {
      quantize_parts(before, index);
      return true;
    }
    if (!is_max_pool(op) || per_tensor_maker(op.inputs[0]) == quantization) return false;
    wrap_pool_input(before, graph.nodes[index], quantization->type);
    return true;
  }

  std::optional<Quantization> per_tensor_maker(ValueId id) const {
    const ptrdiff_t before = maker(id);
    if (before < 0 || !is_dequantize(graph.nodes[static_cast<size_t>(before)])) return std::nullopt;
    return per_tensor(graph, graph.nodes[static_cast<size_t>(before)]);
  }

  void swap_with_quantizer(size_t op, size_t quantizer) {
    Node moved = graph.nodes[op], quantize = graph.nodes[quantizer];
    const ValueId in = moved.inputs[0];
    const ValueId integers = new_value(value(in).name + ".quantized", in, value(quantize.outputs[0]).type);
    moved.outputs = quantize.outputs;
    moved.inputs[0] = integers;
    quantize.inputs[0] = in;
    quantize.outputs = {integers};
    graph.nodes[op] = std::move(quantize);
    graph.nodes[quantizer] = std::move(moved);
  }

  void quantize_parts(size_t concat, size_t quantizer) {
    const Node quantize = graph.nodes[quantizer];
    Node joined = graph.nodes[concat];
    std::vector<Node> parts;
    for (ValueId& id : joined.inputs) {
      const ValueId integers = new_value(value(id).name + ".quantized", id, value(quantize.outputs[0]).type);
      parts.push_back(copy_of(quantize, id, integers));
      id = integers;
    }
    joined.outputs = quantize.outputs;
    graph.nodes[quantizer] = std::move(joined);
    graph.nodes.erase(graph.nodes.begin() + static_cast<ptrdiff_t>(concat));
    graph.nodes.insert(graph.nodes.begin() + static_cast<ptrdiff_t>(concat), parts.begin(), parts.end());
  }

  // x -> MaxPool becomes x -> QuantizeLinear -> DequantizeLinear -> MaxPool.
  void wrap_pool_input(size_t pool, const Node& quantize, DataType type) {
    const ValueId in = graph.nodes[pool].inputs[0];
    const auto [q, dq] = pair_after(quantize, in, type);
    graph.nodes[pool].inputs[0] = dq.outputs[0];
    insert(pool, dq);
    insert(pool, q);
  }
  std::pair<Node, Node> pair_after(const Node& pattern, ValueId in, DataType type) {
    Node q = pattern, dq = pattern;
    q.op = "QuantizeLinear", dq.op = "DequantizeLinear";
    const ValueId integers = new_value(value(in).name + ".quantized", in, type);
    const ValueId numbers = new_value(value(in).name + ".dequantized", in, DataType::f32);
    return {copy_of(q, in, integers), copy_of(dq, integers, numbers)};
  }

  // DequantizeLinear -> op becomes op -> DequantizeLinear.
  bool dequantize_later(size_t index) {
    const Node& op = graph.nodes[index];
    if (op.inputs.empty() || op.outputs.size() != 1) return false;
    const ptrdiff_t before = maker(op.inputs[0]);
    if (before < 0 || !is_dequantize(graph.nodes[static_cast<size_t>(before)])) return false;
    const Node dequantize = graph.nodes[static_cast<size_t>(before)];
    const auto quantization = quantization_of(graph, dequantize);
    if (!quantization) return false;
    if (is_max_pool(op)) return quantization->per_tensor() && wrap_pool_output(index, dequantize, *quantization);
    const bool transposes = is_onnx_op(op, "Transpose") && !quantization->per_tensor();
    const bool moves = quantization->per_tensor() && (is_layout(op) || (is_onnx_op(op, "Concat") && same_makers(op, *quantization)));
    if (!moves && !transposes) return false;
    dequantize_result(index, dequantize, *quantization);
    return true;
  }

  bool same_makers(const Node& op, const Quantization& quantization) const {
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) { return per_tensor_maker(id) == quantization; });
  }

  void dequantize_result(size_t index, Node dequantize, const Quantization& quantization) {
    Node op = graph.nodes[index];
    const ValueId out = op.outputs[0];
    const bool joins = is_onnx_op(op, "Concat");
    for (size_t i = 0; i < (joins ? op.inputs.size() : 1); ++i)
      op.inputs[i] = graph.nodes[static_cast<size_t>(maker(op.inputs[i]))].inputs[0];
    op.outputs = {new_value(value(out).name + ".integers", out, quantization.type)};
    if (!quantization.per_tensor()) {  // a transposed axis
      const auto rank = value(out).dims.value_or(Dims{}).size();
      std::vector<int64_t> order(rank);
      for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
      order = attribute_ints(op, "perm", order);
      dequantize.attributes["axis"] = std::find(order.begin(), order.end(), static_cast<int64_t>(quantization.axis)) - order.begin();
    }
    Node after = copy_of(dequantize, op.outputs[0], out);
    graph.nodes[index] = std::move(op);
    insert(index + 1, std::move(after));
  }

  // MaxPool of quantized numbers gives quantized numbers: says so, unless it is said already.
  bool wrap_pool_output(size_t index, const Node& dequantize, const Quantization& quantization) {
    const ValueId out = graph.nodes[index].outputs[0];
    if (is_graph_output(graph, out)) return false;
    const auto reading = readers(out);
    if (reading.size() == 1 && is_quantize(graph.nodes[reading[0]]) && quantization_of(graph, graph.nodes[reading[0]]) == quantization)
      return false;
    const auto [q, dq] = pair_after(dequantize, out, quantization.type);
    for (size_t reader : reading) std::replace(graph.nodes[reader].inputs.begin(), graph.nodes[reader].inputs.end(), out, dq.outputs[0]);
    insert(index + 1, dq);
    insert(index + 1, q);
    return true;
  }

  bool all_with(bool (Mover::*rewrite)(size_t)) {
    bool changed = false;
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      while (i < graph.nodes.size() && (this->*rewrite)(i)) changed = true;
    return changed;
  }
};

}  // namespace

void move_quantization(Graph& graph) {
  Mover mover{graph};
  mover.all_with(&Mover::merge);
  while (mover.all_with(&Mover::quantize_earlier)) {
  }
  mover.all_with(&Mover::dequantize_later);
  while (mover.all_with(&Mover::cancel)) {
  }
  remove_dead(graph);
}

}  // namespace deepgap
