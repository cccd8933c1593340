// From the last node to the first, so that of two branches that meet in an addition the later one takes it and its input dies early.
#include "engine/passes/chains.h"
#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap {
namespace {

bool is_elementwise_main(const Node& node) {
  return is_onnx_op(node, "Add") || is_onnx_op(node, "Sub") || is_onnx_op(node, "Mul") || is_onnx_op(node, "Div");
}

struct Chain {
  const Graph& graph;
  const std::vector<std::vector<size_t>>& readers;
  const std::vector<bool>& taken;

  std::vector<size_t> from(size_t start) const {
    std::vector<size_t> chain{start};
    const Node& main = graph.nodes[start];
    int residuals = 0;
    while (chain.size() < longest_chain) {
      const ValueId value = graph.nodes[chain.back()].outputs[0];
      const auto& reading = readers[static_cast<size_t>(value)];
      if (is_graph_output(graph, value) || reading.size() != 1 || taken[reading[0]]) break;
      const Node& next = graph.nodes[reading[0]];
      if (std::count(next.inputs.begin(), next.inputs.end(), value) != 1 || next.outputs.size() != 1) break;
      const bool activation = next.inputs[0] == value && activation_of(graph, next).has_value();
      const bool binary = is_dense_main(main) && is_fusable_binary(graph, main, next, value);
      if (!activation && !binary) break;
      const ValueId other = binary ? (next.inputs[0] == value ? next.inputs[1] : next.inputs[0]) : no_value;
      if (binary && constant_of(graph, other) == nullptr && ++residuals > 1) break;
      chain.push_back(reading[0]);
    }
    return chain;
  }
};

}  // namespace

void fuse_operators(Graph& graph) {
  const auto readers = consumers(graph);
  std::vector<bool> taken(graph.nodes.size(), false), erase(graph.nodes.size(), false);
  std::vector<std::vector<size_t>> chains;
  const Chain find{graph, readers, taken};
  for (const auto is_main : {is_dense_main, is_elementwise_main}) {  // a convolution gets the addition before the addition itself
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      if (taken[i] || !is_main(graph.nodes[i]) || graph.nodes[i].outputs.size() != 1) continue;
      const auto chain = find.from(i);
      if (chain.size() < 2) continue;
      for (size_t index : chain) taken[index] = true;
      chains.push_back(chain);
    }
  }
  // Every operand is made before the last node of a chain, so the fused node stands there.
  std::vector<Node> fused;
  for (const auto& chain : chains) fused.push_back(fused_node(graph, nodes_at(graph, chain)));
  for (size_t c = 0; c < chains.size(); ++c) {
    for (size_t index : chains[c]) erase[index] = true;
    erase[chains[c].back()] = false;
    graph.nodes[chains[c].back()] = std::move(fused[c]);
  }
  erase_nodes(graph, erase);
}

}  // namespace deepgap
