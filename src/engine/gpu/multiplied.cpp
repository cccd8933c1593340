#include "engine/gpu/multiplied.h"

#include "engine/passes/chains.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <array>

namespace deepgap::gpu {
namespace {

// Operators that may leave values where they lie, or have them written where they belong.
bool moves(const Node& node) {
  constexpr std::array<std::string_view, 10> ops{"Concat", "Dropout", "Flatten", "Identity",  "Reshape",
                                                 "Slice",  "Split",   "Squeeze", "Transpose", "Unsqueeze"};
  return node.domain.empty() && std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

}  // namespace

std::set<ValueId> multiplied_values(const Graph& graph) {
  std::set<ValueId> multiplied;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {  // readers stand behind whom they read
    const Operation operation = operation_of(graph, *node);
    const Node& main = operation.main;
    if (is_dense_main(main)) {
      if (is_depthwise(graph, main)) continue;
      const bool convolution = main.op == "Conv" || main.op == "ConvTranspose";
      for (size_t i = 0; i < 2; ++i)
        if (constant_of(graph, main.inputs[1 - i]) != nullptr || (convolution && i == 0)) multiplied.insert(main.inputs[i]);
    } else if (operation.posts.empty() && moves(main) &&
               std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId id) { return multiplied.contains(id); })) {
      multiplied.insert(main.inputs.begin(), main.inputs.end());
    }
  }
  for (const ValueId id : graph.outputs) multiplied.erase(id);
  return multiplied;
}

}  // namespace deepgap::gpu
