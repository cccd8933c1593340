#include "worker/pieces.h"

#include "model/graph_tools.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace deepgap {
namespace {

bool is_op(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }
bool is_scaling(const Node& node) { return is_op(node, "QuantizeLinear") || is_op(node, "DequantizeLinear"); }
bool is_activation(const Node& node) { return is_op(node, "Relu") || is_op(node, "Clip"); }

class Splitter {
 public:
  Splitter(const Graph& graph, const std::vector<std::string>& known)
      : source_(graph), readers_(consumers(graph)), known_(known.begin(), known.end()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : graph.nodes[i].outputs) {
        if (id != no_value) maker_[id] = i;
      }
    }
    result_.graph.name = graph.name;
    result_.graph.opset = graph.opset;
  }

  Pieces run() {
    for (size_t i = 0; i < source_.nodes.size(); ++i) {
      if (!taken_.contains(i)) add(i);
    }
    infer_shapes(result_.graph);
    validate(result_.graph);
    result_.graph = bind_symbols(result_.graph, {{batch_symbol, 1}});
    return std::move(result_);
  }

 private:
  const Value& value(ValueId id) const { return source_.values[static_cast<size_t>(id)]; }
  const Node* maker(ValueId id) const {
    const auto found = maker_.find(id);
    return found == maker_.end() ? nullptr : &source_.nodes[found->second];
  }
  bool is_known(ValueId id) const { return value(id).type == DataType::f32 && known_.contains(value(id).name); }

  // The only node that reads the value, if it is one of those that belong to it.
  std::optional<size_t> follower(ValueId id, bool (*wanted)(const Node&)) const {
    const auto& reading = readers_[static_cast<size_t>(id)];
    if (reading.size() != 1 || std::count(source_.outputs.begin(), source_.outputs.end(), id) != 0) return std::nullopt;
    const Node& node = source_.nodes[reading[0]];
    return wanted(node) && node.inputs[0] == id ? std::optional(reading[0]) : std::nullopt;
  }

  // The nodes behind `index` that belong to it: activation, QuantizeLinear, DequantizeLinear.
  std::vector<size_t> chain(size_t index) const {
    std::vector<size_t> nodes{index};
    const auto extend = [&](bool (*wanted)(const Node&)) {
      const auto next = follower(source_.nodes[nodes.back()].outputs[0], wanted);
      if (next) nodes.push_back(*next);
      return next.has_value();
    };
    extend(is_activation);
    if (!extend([](const Node& node) { return is_op(node, "QuantizeLinear"); })) return nodes;
    // Several readers of the levels may each have a DequantizeLinear: any of them will do.
    for (const size_t reader : readers_[static_cast<size_t>(source_.nodes[nodes.back()].outputs[0])]) {
      if (!is_op(source_.nodes[reader], "DequantizeLinear")) continue;
      nodes.push_back(reader);
      return nodes;
    }
    nodes.pop_back();
    return nodes;
  }

  // The first of the chain's values that the reference has, from its end.
  std::string answer_of(const std::vector<size_t>& nodes) const {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const ValueId id = source_.nodes[*node].outputs[0];
      if (is_known(id)) return value(id).name;
      if (!is_scaling(source_.nodes[*node])) break;  // what stands before the activation is not what it answers
    }
    return {};
  }

  // Where the answer is the reference's own reading of levels.
  std::optional<float> quantum_of(const Node& last, const std::string& answer) const {
    if (!is_op(last, "DequantizeLinear") || value(last.outputs[0]).name != answer) return std::nullopt;
    const Tensor* scale = constant_of(source_, last.inputs[1]);
    return scale != nullptr && scale->type == DataType::f32 && element_count(scale->shape) == 1 ? std::optional(scale->as<float>()[0])
                                                                                                : std::nullopt;
  }

  // Returns whether the value can be had: a constant, one of the reference, or levels of such.
  bool can_import(ValueId id) const {
    if (id == no_value || constant_of(source_, id) != nullptr) return true;
    const Node* node = maker(id);
    if (node != nullptr && is_scaling(*node)) return can_import(node->inputs[0]);
    return is_known(id);
  }

  ValueId new_value(Value copy) {
    const std::string stem = copy.name;
    for (int i = 1; !names_.insert(copy.name).second; ++i) copy.name = stem + "." + std::to_string(i);
    result_.graph.values.push_back(std::move(copy));
    return static_cast<ValueId>(result_.graph.values.size()) - 1;
  }

  ValueId import(ValueId id) {
    if (id == no_value) return no_value;
    if (const auto found = imported_.find(id); found != imported_.end()) return found->second;
    const Node* node = maker(id);
    ValueId copy = no_value;
    if (node != nullptr && is_scaling(*node)) {
      copy = copy_node(*node, "").outputs[0];
    } else {
      copy = new_value(value(id));
      if (const Tensor* constant = constant_of(source_, id)) {
        result_.graph.constants.emplace(copy, *constant);
      } else {
        result_.graph.inputs.push_back(copy);
        result_.inputs.push_back(value(id).name);
      }
    }
    imported_[id] = copy;
    return copy;
  }

  // Copies the node with its inputs imported, but for `inner`, which stays what it was mapped to.
  Node copy_node(Node node, const std::string& suffix, std::optional<std::pair<ValueId, ValueId>> inner = {}) {
    for (ValueId& id : node.inputs) id = inner && id == inner->first ? inner->second : import(id);
    for (ValueId& id : node.outputs) {
      if (id == no_value) continue;
      Value copy = value(id);
      copy.name += suffix;
      id = new_value(std::move(copy));
    }
    const std::string stem = node.name + suffix;
    node.name = stem;
    for (int i = 1; !node_names_.insert(node.name).second; ++i) node.name = stem + "." + std::to_string(i);
    result_.graph.nodes.push_back(node);
    return node;
  }

  void add(size_t index) {
    const Node& node = source_.nodes[index];
    if (is_scaling(node) || node.outputs.size() != 1 || value(node.outputs[0]).type != DataType::f32) return;
    const bool fed = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId id) { return id != no_value && constant_of(source_, id) == nullptr; });
    if (!fed || !std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return can_import(id); })) return;
    const std::vector<size_t> nodes = chain(index);
    const std::string answer = answer_of(nodes);
    if (answer.empty()) return;
    taken_.insert(nodes.begin(), nodes.end());
    std::optional<std::pair<ValueId, ValueId>> inner;
    for (const size_t i : nodes) {
      const Node copy = copy_node(source_.nodes[i], ".piece", inner);
      inner = {source_.nodes[i].outputs[0], copy.outputs[0]};
    }
    result_.graph.outputs.push_back(inner->second);
    const bool levels_in = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      const Node* made = id == no_value ? nullptr : maker(id);
      return made != nullptr && is_scaling(*made);
    });
    result_.pieces.push_back({node.name, node.op, answer, levels_in, quantum_of(source_.nodes[nodes.back()], answer)});
  }

  const Graph& source_;
  std::vector<std::vector<size_t>> readers_;
  std::set<std::string> known_, names_, node_names_;
  std::map<ValueId, size_t> maker_;
  std::map<ValueId, ValueId> imported_;
  std::set<size_t> taken_;
  Pieces result_;
};

}  // namespace

Pieces pieces_of(const Graph& graph, const std::vector<std::string>& known) { return Splitter(graph, known).run(); }

}  // namespace deepgap
