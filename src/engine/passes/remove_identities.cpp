#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap {
namespace {

bool passes_on(const Graph& graph, const Node& node) {
  if (is_onnx_op(node, "Identity")) return true;
  if (!is_onnx_op(node, "Dropout")) return false;
  // Its mask is an output of its own, and a training mode that is not a known "no" must stay.
  const bool mask = node.outputs.size() > 1 && node.outputs[1] != no_value;
  const bool mode = node.inputs.size() > 2 && node.inputs[2] != no_value;
  if (mask) return false;
  if (!mode) return true;
  const Tensor* training = constant_of(graph, node.inputs[2]);
  return training != nullptr && training->type == DataType::boolean && *training->data == std::byte{0};
}

Node* producer(Graph& graph, ValueId id) {
  const auto it = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end();
  });
  return it == graph.nodes.end() ? nullptr : &*it;
}

}  // namespace

void remove_identities(Graph& graph) {
  std::vector<bool> erase(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!passes_on(graph, graph.nodes[i])) continue;
    const ValueId in = graph.nodes[i].inputs.at(0), out = graph.nodes[i].outputs.at(0);
    if (!is_graph_output(graph, out)) {
      replace_uses(graph, out, in);
      erase[i] = true;
      continue;
    }
    // The output's name is what users know: its producer writes it directly, where that is possible.
    Node* maker = producer(graph, in);
    if (maker == nullptr || is_graph_output(graph, in)) continue;
    graph.nodes[i].inputs[0] = no_value;  // so that it does not become its own producer
    std::replace(maker->outputs.begin(), maker->outputs.end(), in, out);
    replace_uses(graph, in, out);
    graph.nodes[i].outputs.clear();
    erase[i] = true;
  }
  erase_nodes(graph, erase);
}

}  // namespace deepgap
