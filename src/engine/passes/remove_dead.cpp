#include "engine/passes/edit.h"
#include "engine/passes/passes.h"

namespace deepgap {

void remove_dead(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false), erase(graph.nodes.size(), false);
  const auto need = [&](ValueId id) {
    if (id != no_value) needed[static_cast<size_t>(id)] = true;
  };
  for (ValueId id : graph.outputs) need(id);
  for (size_t i = graph.nodes.size(); i-- > 0;) {  // topological order: readers come after
    bool live = false;
    for (ValueId id : graph.nodes[i].outputs) live = live || (id != no_value && needed[static_cast<size_t>(id)]);
    erase[i] = !live;
    if (!live) continue;
    for (ValueId id : graph.nodes[i].inputs) need(id);
  }
  erase_nodes(graph, erase);
  std::erase_if(graph.constants, [&](const auto& item) { return !needed[static_cast<size_t>(item.first)]; });
}

}  // namespace deepgap
