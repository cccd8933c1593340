#include "backends/common/blamed_node.h"

#include "base/words.h"

namespace deepgap {
namespace {

bool names_node(const Graph& graph, const Node& node, std::string_view message) {
  if (has_word(message, node.name)) return true;
  return !node.outputs.empty() && node.outputs[0] != no_value && has_word(message, graph.values[static_cast<size_t>(node.outputs[0])].name);
}

}  // namespace

const Node* blamed_node(const Graph& graph, std::string_view message) {
  const Node* by_operator = nullptr;
  for (const Node& node : graph.nodes) {
    if (!has_word(message, node.op)) continue;
    if (names_node(graph, node, message)) return &node;
    if (by_operator == nullptr) by_operator = &node;
  }
  return by_operator;
}

std::string full_name(const Node& node) { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

}  // namespace deepgap
