#include "model/integer_values.h"

#include "model/graph_tools.h"

#include <algorithm>
#include <optional>

namespace deepgap {

namespace {

std::optional<int64_t> rows_chosen_by(const Graph& graph, const Node& node, ValueId id) {
  if (node.op != "Gather" || node.inputs.size() < 2 || node.inputs[1] != id) return std::nullopt;
  const auto table = graph.constants.find(node.inputs[0]);
  if (table == graph.constants.end() || table->second.shape.empty() || attribute_int(node, "axis", 0) != 0) return std::nullopt;
  return table->second.shape[0];
}

}  // namespace

std::map<std::string, int64_t> integer_values(const Graph& graph) {
  std::map<std::string, int64_t> values;
  const auto readers = consumers(graph);
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[id];
    if (input.type != DataType::i64 && input.type != DataType::i32) continue;
    std::optional<int64_t> least;
    for (const size_t reader : readers[id])
      if (const auto rows = rows_chosen_by(graph, graph.nodes[reader], id)) least = std::min(*rows, least.value_or(*rows));
    values[input.name] = std::max<int64_t>(1, least.value_or(2));
  }
  return values;
}

}  // namespace deepgap
