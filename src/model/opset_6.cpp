#include "model/opset_6.h"

#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace deepgap {
namespace {

const std::set<std::string> broadcasting{"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"};

class Raiser {
 public:
  explicit Raiser(Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values) names_.insert(value.name);
  }

  void run() {
    std::vector<Node> given = std::exchange(graph_.nodes, {});
    for (Node& node : given) {
      if (node.domain.empty()) raise(node);
      graph_.nodes.push_back(std::move(node));
    }
    graph_.opset = 7;
  }

 private:
  void raise(Node& node) {
    if (broadcasting.contains(node.op)) align_along_axis(node);
    if (node.op == "PRelu") align(node, 1);
    if (node.op == "Gemm") node.attributes.erase("broadcast");
    if (node.op == "BatchNormalization" || node.op == "Dropout") drop_training(node);
    if (node.op == "Upsample" || node.op == "LSTM" || node.op == "GRU" || node.op == "RNN")
      throw Error(ErrorKind::input, fmt::format("{} node '{}' is read from opset 7 on, convert the file", node.op, node.name));
  }

  void align_along_axis(Node& node) {
    const int64_t broadcast = attribute_int(node, "broadcast", 0);
    const bool has_axis = node.attributes.contains("axis");
    const int64_t axis = attribute_int(node, "axis", 0);
    node.attributes.erase("broadcast");
    node.attributes.erase("axis");
    if (broadcast != 0 && has_axis) align(node, axis);
  }

  // The second input begins at that axis of the first: dimensions of 1 follow it.
  void align(Node& node, int64_t axis) {
    if (node.inputs.size() < 2 || node.inputs[0] == no_value || node.inputs[1] == no_value)
      throw Error(ErrorKind::input, fmt::format("{} node '{}' has not both of its inputs", node.op, node.name));
    const size_t rank = rank_of(node.inputs.at(0), node), own = rank_of(node.inputs.at(1), node);
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || static_cast<size_t>(axis) + own >= rank || own == 0) return;
    std::vector<int64_t> behind(rank - static_cast<size_t>(axis) - own);
    std::iota(behind.begin(), behind.end(), static_cast<int64_t>(own));
    const ValueId aligned = new_value(graph_.values[static_cast<size_t>(node.inputs[1])], node);
    graph_.nodes.push_back({node.name + ".aligned", "Unsqueeze", "", {node.inputs[1]}, {aligned}, {{"axes", std::move(behind)}}});
    node.inputs[1] = aligned;
  }

  void drop_training(Node& node) const {
    if (attribute_int(node, "is_test", 0) == 0)
      throw Error(ErrorKind::input, fmt::format("{} node '{}' trains: export the network for inference", node.op, node.name));
    node.attributes.erase("is_test");
  }

  // Infers the rank of a value that earlier nodes make from their inputs.
  size_t rank_of(ValueId id, const Node& reader) const {
    const auto& dims = graph_.values[static_cast<size_t>(id)].dims;
    if (dims) return dims->size();
    Graph before = graph_;
    before.opset = 7;
    infer_shapes(before);
    const auto& inferred = before.values[static_cast<size_t>(id)].dims;
    if (!inferred) throw Error(ErrorKind::input, fmt::format("the rank of an input of {} node '{}' is not known", reader.op, reader.name));
    return inferred->size();
  }

  ValueId new_value(const Value& like, const Node& node) {
    std::string name = like.name + "." + node.name;
    while (!names_.insert(name).second) name += "_";
    graph_.values.push_back({name, like.type, std::nullopt});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  Graph& graph_;
  std::set<std::string> names_;
};

}  // namespace

void raise_opset_6(Graph& graph) { Raiser(graph).run(); }

}  // namespace deepgap
