// Dense operators first (order_of_taking). Then elementwise ones from the first, which takes constants and activations along.
#include "engine/passes/chains.h"
#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap {
namespace {

// Elements of one channel of a sample; 0 where they are not known.
int64_t spatial_size(const Graph& graph, ValueId id) {
  const auto& dims = graph.values[static_cast<size_t>(id)].dims;
  int64_t size = 1;
  for (size_t i = 2; dims && i < dims->size(); ++i) size *= (*dims)[i].known() ? (*dims)[i].size : 0;
  return dims ? size : 0;
}

// A second number per channel, such as a product's after which there is an addition.
bool can_follow_elementwise(const Graph& graph, const FusionRules& rules, ValueId other, ValueId value) {
  return constant_of(graph, other) != nullptr && (rules.single_elements || spatial_size(graph, value) > 1);
}

struct Chain {
  const Graph& graph;
  const std::vector<std::vector<size_t>>& readers;
  const std::vector<bool>& taken;
  const FusionRules& rules;

  std::vector<size_t> from(size_t start) const {
    std::vector<size_t> chain{start};
    const Node& main = graph.nodes[start];
    int residuals = 0;
    while (chain.size() < rules.longest_chain) {
      const ValueId value = graph.nodes[chain.back()].outputs[0];
      const auto& reading = readers[static_cast<size_t>(value)];
      if (is_graph_output(graph, value) || reading.size() != 1 || taken[reading[0]]) break;
      const Node& next = graph.nodes[reading[0]];
      if (std::count(next.inputs.begin(), next.inputs.end(), value) != 1 || next.outputs.size() != 1) break;
      const bool activation = next.inputs[0] == value && activation_of(graph, next).has_value();
      const bool binary = is_fusable_binary(graph, main, next, value);
      if (!activation && !binary) break;
      const ValueId other = binary ? (next.inputs[0] == value ? next.inputs[1] : next.inputs[0]) : no_value;
      if (binary && !is_dense_main(main) && !can_follow_elementwise(graph, rules, other, value)) break;
      if (binary && constant_of(graph, other) == nullptr && ++residuals > 1) break;
      chain.push_back(reading[0]);
    }
    return chain;
  }
};

}  // namespace

void fuse_operators(Graph& graph, const FusionRules& rules) {
  const auto readers = consumers(graph);
  std::vector<bool> taken(graph.nodes.size(), false), erase(graph.nodes.size(), false);
  std::vector<std::vector<size_t>> chains;
  const Chain find{graph, readers, taken, rules};
  const auto start_at = [&](size_t i) {
    if (taken[i] || graph.nodes[i].outputs.size() != 1) return;
    const auto chain = find.from(i);
    if (chain.size() < 2) return;
    for (size_t index : chain) taken[index] = true;
    chains.push_back(chain);
  };
  const auto is_main = [&](size_t i, const auto& names) { return graph.nodes[i].domain.empty() && names.contains(graph.nodes[i].op); };
  for (const size_t i : order_of_taking(graph, rules))
    if (is_main(i, rules.dense)) start_at(i);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (is_main(i, rules.elementwise)) start_at(i);
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
