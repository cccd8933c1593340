#include "engine/passes/passes.h"

#include "engine/passes/loops.h"
#include "engine/passes/quantization.h"
#include "model/graph_tools.h"

#include <memory>

namespace deepgap {
namespace {

template <typename Optimize>
void in_bodies_of_loops(Graph& graph, Optimize optimize) {
  for (Node& node : graph.nodes) {
    if (!is_closed_loop(node)) continue;
    Graph body = loop_body(node);
    optimize(body);
    node.attributes["body"] = std::make_shared<const Graph>(std::move(body));
  }
}

}  // namespace

void optimize_unbound(Graph& graph, const FusionRules& rules) {
  fold_packed_weights(graph);
  require_handled_quantization(graph);
  remove_identities(graph);
  fold_constants(graph, true);
  fuse_gelus(graph);
  fuse_hard_swishes(graph);
  fuse_layer_norms(graph);
  if (rules.integers == Integers::computed_with) {
    center_weights(graph);
    move_quantization(graph);
    fold_constants(graph, true);  // layout operators that moved to constants
  } else {
    fold_dequantized(graph);
  }
  fold_affines(graph);
  write_out_batch_norms(graph);
  spread_up_convolutions(graph, rules);
  if (rules.join_projections) join_projections(graph);
  remove_dead(graph);
  in_bodies_of_loops(graph, [&](Graph& body) { optimize_unbound(body, rules); });
}

void optimize_bound(Graph& graph, const FusionRules& rules) {
  fold_constants(graph, true);  // shapes that depend on the batch are numbers now
  remove_dead(graph);
  if (rules.regions) join_sized_by_data(graph);
  if (rules.integers == Integers::computed_with) fuse_quantized(graph, rules);
  remove_dead(graph);
  fold_dequantized(graph);
  if (rules.attention) fuse_attention(graph);
  fuse_operators(graph, rules);
  remove_dead(graph);
}

Graph bound_graph(const Graph& unbound, int64_t batch, const FusionRules& rules) {
  Graph graph = bind_symbols(unbound, {{batch_symbol, batch}});
  bind_loops(graph);
  optimize_bound(graph, rules);
  in_bodies_of_loops(graph, [&](Graph& body) { optimize_bound(body, rules); });
  return graph;
}

}  // namespace deepgap
