// MatMul, scaling, a mask added, Softmax and MatMul become one node, with the Transposes that alone feed them and follow them. Three and
// four dimensions; no broadcasting between the operands' leading ones.
#include "engine/passes/attention.h"
#include "engine/passes/edit.h"
#include "engine/passes/flow.h"
#include "engine/passes/fused.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

// One operand as the products see it: a value with a Transpose before it or none.
struct Seen {
  ValueId id = no_value;  // the value that lies in memory
  Shape shape;            // as seen
  std::vector<int64_t> steps;
};

struct Match {
  std::vector<size_t> nodes;  // ascending
  Seen query, key, value, result;
  std::optional<Seen> mask;
  float scale = 1;
};

std::vector<int64_t> dense_steps(const Shape& shape) {
  std::vector<int64_t> steps(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) steps[i - 1] = steps[i] * shape[i];
  return steps;
}

std::vector<int64_t> order_of(const Node& transpose, size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return attribute_ints(transpose, "perm", order);
}

class Matcher {
 public:
  explicit Matcher(const Flow& flow) : flow_(flow) {}

  std::optional<Match> at(const Node& softmax) {
    match_ = {};
    if (!is_onnx_op(softmax, "Softmax") || !is_known(softmax.outputs[0])) return std::nullopt;
    const Shape scores = known_shape(flow_.graph(), softmax.outputs[0]);
    const auto rank = static_cast<int64_t>(scores.size());
    const int64_t axis = attribute_int(softmax, "axis", flow_.graph().opset < 13 ? 1 : -1);
    if ((rank != 3 && rank != 4) || (axis != -1 && axis != rank - 1)) return std::nullopt;
    const Node* product = first_product(softmax);
    const Node* last = flow_.only_reader(softmax.outputs[0]);
    if (product == nullptr || last == nullptr || !is_onnx_op(*last, "MatMul") || last->inputs[0] != softmax.outputs[0]) return std::nullopt;
    take(*product);
    take(softmax);
    take(*last);
    match_.query = scaled(product->inputs[0]);
    match_.key = scaled(product->inputs[1]);
    match_.value = seen(last->inputs[1]);
    see_result(*last);
    if (!fits(scores)) return std::nullopt;
    std::sort(match_.nodes.begin(), match_.nodes.end());
    return match_;
  }

 private:
  bool is_known(ValueId id) const {
    const Value& value = flow_.graph().values[static_cast<size_t>(id)];
    return value.type == DataType::f32 && value.dims &&
           std::all_of(value.dims->begin(), value.dims->end(), [](const Dim& dim) { return dim.known(); });
  }
  void take(const Node& node) { match_.nodes.push_back(flow_.index_of(node)); }

  // Multiplies the scale where `node` does nothing but scale `id`'s numbers.
  bool take_scale(const Node& node, ValueId& id) {
    for (size_t i = 0; i < 2 && (node.op == "Mul" || node.op == "Div") && node.domain.empty(); ++i) {
      const auto factor = number_of(flow_.graph(), node.inputs[i]);
      if (!factor || (node.op == "Div" && i == 0) || !is_known(node.inputs[1 - i])) continue;
      if (known_shape(flow_.graph(), node.inputs[1 - i]) != known_shape(flow_.graph(), node.outputs[0])) continue;
      match_.scale = node.op == "Mul" ? match_.scale * *factor : match_.scale / *factor;
      take(node);
      id = node.inputs[1 - i];
      return true;
    }
    return false;
  }
  const Node* own_maker(ValueId id) const {
    const Node* maker = flow_.own_maker(id);
    return maker != nullptr && is_known(id) ? maker : nullptr;
  }

  // From Softmax back through a mask and scalings to the first MatMul.
  const Node* first_product(const Node& softmax) {
    ValueId id = softmax.inputs[0];
    for (const Node* node = own_maker(id); node != nullptr; node = own_maker(id)) {
      if (is_onnx_op(*node, "MatMul")) return node;
      if (take_scale(*node, id)) continue;
      if (!is_onnx_op(*node, "Add") || match_.mask || match_.scale != 1) return nullptr;
      const size_t side = comes_from_product(node->inputs[0]) ? 0 : 1;
      const ValueId mask = node->inputs[1 - side];
      if (!is_known(mask) || !is_known(node->inputs[side]) ||
          known_shape(flow_.graph(), node->inputs[side]) != known_shape(flow_.graph(), id))
        return nullptr;
      const Shape shape = known_shape(flow_.graph(), mask);
      match_.mask = Seen{mask, shape, dense_steps(shape)};
      take(*node);
      id = node->inputs[side];
    }
    return nullptr;
  }
  bool comes_from_product(ValueId id) const {
    const Node* node = own_maker(id);
    if (node == nullptr) return false;
    if (is_onnx_op(*node, "MatMul")) return true;
    if (!is_onnx_op(*node, "Mul") && !is_onnx_op(*node, "Div")) return false;
    return std::any_of(node->inputs.begin(), node->inputs.end(), [&](ValueId input) { return flow_.made_by(input, "MatMul") != nullptr; });
  }

  Seen seen(ValueId id) {
    if (!is_known(id)) return {};
    Seen operand{id, known_shape(flow_.graph(), id), {}};
    const Node* transpose = own_maker(id);
    if (transpose == nullptr || !is_onnx_op(*transpose, "Transpose") || !is_known(transpose->inputs[0])) {
      operand.steps = dense_steps(operand.shape);
      return operand;
    }
    take(*transpose);
    operand.id = transpose->inputs[0];
    const auto steps = dense_steps(known_shape(flow_.graph(), operand.id));
    for (const int64_t axis : order_of(*transpose, steps.size())) operand.steps.push_back(steps[static_cast<size_t>(axis)]);
    return operand;
  }
  // Exporters scale query and key before they multiply them, too: before or after the Transpose.
  Seen scaled(ValueId id) {
    if (const Node* node = own_maker(id)) take_scale(*node, id);
    Seen operand = seen(id);
    if (const Node* node = operand.id == no_value ? nullptr : own_maker(operand.id)) take_scale(*node, operand.id);
    return operand;
  }
  void see_result(const Node& product) {
    const ValueId id = product.outputs[0];
    if (!is_known(id)) return;
    match_.result = {id, known_shape(flow_.graph(), id), {}};
    match_.result.steps = dense_steps(match_.result.shape);
    const Node* transpose = flow_.only_reader(id);
    if (transpose == nullptr || !is_onnx_op(*transpose, "Transpose")) return;
    take(*transpose);
    match_.result.id = transpose->outputs[0];
    const auto steps = dense_steps(known_shape(flow_.graph(), transpose->outputs[0]));
    const auto order = order_of(*transpose, steps.size());
    for (size_t i = 0; i < order.size(); ++i) match_.result.steps[static_cast<size_t>(order[i])] = steps[i];
  }

  // Same leading sizes everywhere, and a mask that broadcasts to the scores.
  bool fits(const Shape& scores) const {
    const size_t rank = scores.size();
    const auto leads = [&](const Seen& operand) {
      return operand.shape.size() == rank && std::equal(scores.begin(), scores.end() - 2, operand.shape.begin());
    };
    if (!leads(match_.query) || !leads(match_.key) || !leads(match_.value) || !leads(match_.result)) return false;
    if (element_count(scores) == 0 || element_count(match_.result.shape) == 0) return false;
    if (!match_.mask) return true;
    const Shape& mask = match_.mask->shape;
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask.size() > rank || (mask[i] != 1 && mask[i] != scores[rank - mask.size() + i])) return false;
    return true;
  }

  const Flow& flow_;
  Match match_;
};

// Three dimensions have one head.
std::array<int64_t, 4> four_steps(const Seen& operand, size_t rank) {
  std::array<int64_t, 4> result{};
  for (size_t i = 0; i < operand.shape.size(); ++i) {
    const size_t axis = rank - operand.shape.size() + i;
    if (operand.shape[i] != 1) result[axis == 0 ? 0 : axis + 4 - rank] = operand.steps[i];
  }
  return result;
}

Attention described(const Match& match, const std::vector<ValueId>& inputs) {
  const size_t rank = match.query.shape.size();
  const auto operand = [&](const Seen& seen) {
    const auto position = std::find(inputs.begin(), inputs.end(), seen.id) - inputs.begin();
    return Attention::Operand{static_cast<size_t>(position), four_steps(seen, rank)};
  };
  Attention result{.batch = match.query.shape[0],
                   .heads = rank == 4 ? match.query.shape[1] : 1,
                   .queries = match.query.shape[rank - 2],
                   .keys = match.value.shape[rank - 2],
                   .depth = match.query.shape[rank - 1],
                   .columns = match.value.shape[rank - 1],
                   .query = operand(match.query),
                   .key = operand(match.key),
                   .value = operand(match.value)};
  if (match.mask) result.mask = operand(*match.mask);
  result.result = four_steps(match.result, rank);
  result.scale = match.scale;
  return result;
}

}  // namespace

void fuse_attention(Graph& graph) {
  const Flow flow(graph);
  Matcher matcher(flow);
  std::vector<bool> erase(graph.nodes.size(), false);
  std::vector<std::pair<size_t, Node>> found;
  for (const Node& node : graph.nodes) {
    const auto match = matcher.at(node);
    if (!match || std::any_of(match->nodes.begin(), match->nodes.end(), [&](size_t index) { return erase[index]; })) continue;
    std::vector<Node> nodes;
    for (const size_t index : match->nodes) {
      nodes.push_back(graph.nodes[index]);
      erase[index] = true;
    }
    Node fused = fused_node(graph, nodes);
    fused.op = "Attention";
    describe(fused, described(*match, fused.inputs));
    found.emplace_back(match->nodes.back(), std::move(fused));
  }
  for (auto& [index, node] : found) {
    graph.nodes[index] = std::move(node);
    erase[index] = false;
  }
  erase_nodes(graph, erase);
}

}  // namespace deepgap
