// Query, key and value are products of mostly one value with constant weights. Such products become one, with the weights side by side, and
// a Split cuts its rows where they are read: the value is read once, and one large product keeps a device busier than three small ones.
#include "engine/passes/edit.h"
#include "engine/passes/flow.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace deepgap {
namespace {

// x times constant weights [inputs, outputs], and a bias [outputs] or none.
struct Projection {
  size_t product = 0, sum = 0;  // indices of its nodes; the same where it has no bias
  ValueId x = no_value, weights = no_value, bias = no_value, result = no_value;
};

bool is_matrix(const Graph& graph, ValueId id) {
  const Tensor* tensor = id == no_value ? nullptr : constant_of(graph, id);
  return tensor != nullptr && tensor->type == DataType::f32 && tensor->shape.size() == 2;
}

class Finder {
 public:
  explicit Finder(const Flow& flow) : flow_(flow) {}

  // Those of a Softmax between two products of computed values: query, key, value, as far as they are projections.
  std::vector<Projection> around(const Node& softmax) const {
    std::vector<Projection> found;
    const Node* last = is_onnx_op(softmax, "Softmax") ? flow_.only_reader(softmax.outputs[0]) : nullptr;
    const Node* first = last == nullptr ? nullptr : product_before(softmax.inputs[0], most_steps);
    if (first == nullptr || !is_onnx_op(*last, "MatMul") || last->inputs[0] != softmax.outputs[0]) return found;
    for (const ValueId id : {first->inputs[0], first->inputs[1], last->inputs[1]})
      if (const auto projection = projection_of(id)) found.push_back(*projection);
    return found;
  }

 private:
  static constexpr int most_steps = 4;  // a mask, a scale, written as it may be

  const Node* product_before(ValueId id, int steps) const {
    const Node* node = flow_.own_maker(id);
    if (node == nullptr || is_onnx_op(*node, "MatMul")) return node;
    const bool passes = is_onnx_op(*node, "Add") || is_onnx_op(*node, "Mul") || is_onnx_op(*node, "Div");
    for (const ValueId input : node->inputs)
      if (const Node* product = passes && steps > 0 ? product_before(input, steps - 1) : nullptr) return product;
    return nullptr;
  }
  // Returns the input of a node that only scales or moves numbers; nullopt for others.
  std::optional<ValueId> passed(const Node& node) const {
    if (is_onnx_op(node, "Reshape") || is_onnx_op(node, "Transpose")) return node.inputs[0];
    if (!is_onnx_op(node, "Mul") && !is_onnx_op(node, "Div")) return std::nullopt;
    for (size_t i = 0; i < 2; ++i)
      if (number_of(flow_.graph(), node.inputs[i])) return node.inputs[1 - i];
    return std::nullopt;
  }
  std::optional<Projection> projection_of(ValueId id) const {
    for (const Node* node = flow_.own_maker(id); node != nullptr; node = flow_.own_maker(id)) {
      if (is_onnx_op(*node, "MatMul")) return product_of(*node);
      if (is_onnx_op(*node, "Add")) return sum_of(*node);
      const auto before = passed(*node);
      if (!before) break;
      id = *before;
    }
    return std::nullopt;
  }
  std::optional<Projection> product_of(const Node& node) const {
    if (!is_matrix(flow_.graph(), node.inputs[1])) return std::nullopt;
    const size_t index = flow_.index_of(node);
    return Projection{index, index, node.inputs[0], node.inputs[1], no_value, node.outputs[0]};
  }
  std::optional<Projection> sum_of(const Node& node) const {
    for (size_t i = 0; i < 2; ++i) {
      const Node* product = flow_.own_maker(node.inputs[i]);
      const Tensor* bias = constant_of(flow_.graph(), node.inputs[1 - i]);
      if (product == nullptr || bias == nullptr || !is_onnx_op(*product, "MatMul")) continue;
      auto projection = product_of(*product);
      if (!projection || bias->type != DataType::f32 || bias->shape != Shape{columns_of(*projection)}) return std::nullopt;
      projection->sum = flow_.index_of(node);
      projection->bias = node.inputs[1 - i];
      projection->result = node.outputs[0];
      return projection;
    }
    return std::nullopt;
  }
  int64_t columns_of(const Projection& one) const { return constant_of(flow_.graph(), one.weights)->shape[1]; }

  const Flow& flow_;
};

// Tensors of equally many rows, side by side.
Tensor beside(const Graph& graph, const std::vector<ValueId>& ids) {
  Shape shape = constant_of(graph, ids[0])->shape;
  shape.back() = 0;
  for (const ValueId id : ids) shape.back() += constant_of(graph, id)->shape.back();
  Tensor result = make_tensor(DataType::f32, shape);
  const auto all = writable<float>(result);
  int64_t first = 0;
  for (const ValueId id : ids) {
    const Tensor& one = *constant_of(graph, id);
    const int64_t columns = one.shape.back();
    for (int64_t row = 0; columns > 0 && row < element_count(one.shape) / columns; ++row)
      std::memcpy(all.data() + row * shape.back() + first, one.data.get() + row * columns * int64_t{sizeof(float)},
                  static_cast<size_t>(columns) * sizeof(float));
    first += columns;
  }
  return result;
}

std::string joined(const Graph& graph, const std::vector<size_t>& nodes) {
  std::string name;
  for (const size_t index : nodes) name += (name.empty() ? "" : "+") + graph.nodes[index].name;
  return name;
}

Node split_node(Graph& graph, const std::string& name, ValueId rows, const std::vector<ValueId>& parts,
                const std::vector<int64_t>& columns) {
  Node split{name, "Split", "", {rows}, parts, {{"axis", int64_t{-1}}}};
  if (graph.opset < 13) {
    split.attributes["split"] = columns;
  } else {
    Tensor sizes = make_tensor(DataType::i64, {static_cast<int64_t>(columns.size())});
    std::copy(columns.begin(), columns.end(), writable<int64_t>(sizes).begin());
    split.inputs.push_back(add_constant(graph, name + ".sizes", std::move(sizes)));
  }
  return split;
}

// The nodes that do what `group` does.
std::vector<Node> join(Graph& graph, const std::vector<Projection>& group) {
  std::vector<ValueId> weights, biases, parts;
  std::vector<size_t> products, sums;
  std::vector<int64_t> columns;
  for (const Projection& one : group) {
    weights.push_back(one.weights);
    biases.push_back(one.bias);
    parts.push_back(one.result);
    products.push_back(one.product);
    sums.push_back(one.sum);
    columns.push_back(constant_of(graph, one.weights)->shape[1]);
  }
  Tensor all = beside(graph, weights);
  auto dims = graph.values[static_cast<size_t>(graph.nodes[products[0]].outputs[0])].dims;
  if (dims) dims->back() = {all.shape.back(), ""};
  const std::string name = joined(graph, products), sum_name = joined(graph, sums);
  ValueId rows = add_value(graph, name, DataType::f32, dims);
  const ValueId matrix = add_constant(graph, name + ".weights", std::move(all));
  std::vector<Node> nodes{{name, "MatMul", "", {group[0].x, matrix}, {rows}, {}}};
  if (biases[0] != no_value) {
    const ValueId sum = add_value(graph, sum_name, DataType::f32, dims);
    nodes.push_back({sum_name, "Add", "", {rows, add_constant(graph, sum_name + ".bias", beside(graph, biases))}, {sum}, {}});
    rows = sum;
  }
  nodes.push_back(split_node(graph, sum_name + ".parts", rows, parts, columns));
  return nodes;
}

// Those that can be one product, in the order of their nodes: groups of two and more.
std::vector<std::vector<Projection>> groups_of(const Graph& graph, const std::vector<Projection>& found) {
  std::map<std::pair<ValueId, bool>, std::map<size_t, Projection>> by_source;  // one that is key and value, too, counts once
  for (const Projection& one : found) by_source[{one.x, one.bias != no_value}].emplace(one.product, one);
  std::vector<std::vector<Projection>> groups;
  for (const auto& [source, members] : by_source) {
    std::vector<Projection> group;
    for (const auto& [index, one] : members) group.push_back(one);
    const auto rows = [&](const Projection& one) { return constant_of(graph, one.weights)->shape[0]; };
    const bool fits = std::all_of(group.begin(), group.end(), [&](const Projection& one) { return rows(one) == rows(group[0]); });
    if (group.size() > 1 && fits) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

void join_projections(Graph& graph) {
  std::vector<std::vector<Projection>> groups;
  {
    const Flow flow(graph);
    const Finder finder(flow);
    std::set<size_t> taken;
    for (const Node& node : graph.nodes)
      for (auto& group : groups_of(graph, finder.around(node))) {
        const bool is_free = std::none_of(group.begin(), group.end(), [&](const Projection& one) { return taken.contains(one.product); });
        for (const Projection& one : group) taken.insert(one.product);
        if (is_free) groups.push_back(std::move(group));
      }
  }
  if (groups.empty()) return;
  std::map<size_t, std::vector<Node>> put;  // before the node at that index
  std::vector<bool> erase(graph.nodes.size(), false);
  for (const auto& group : groups) {
    put[group[0].product] = join(graph, group);
    for (const Projection& one : group) erase[one.product] = erase[one.sum] = true;
  }
  std::vector<Node> nodes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (const auto here = put.find(i); here != put.end()) std::move(here->second.begin(), here->second.end(), std::back_inserter(nodes));
    if (!erase[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace deepgap
