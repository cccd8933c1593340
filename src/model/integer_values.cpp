#include "model/integer_values.h"

#include "model/graph_tools.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace deepgap {

namespace {

constexpr int most_steps = 8;  // from an input to its table

// Of the smallest table whose rows `id` chooses, as it is or in another integer type or shape.
std::optional<int64_t> rows_chosen_by(const Graph& graph, const std::vector<std::vector<size_t>>& readers, ValueId id,
                                      int steps = most_steps) {
  static const std::set<std::string_view> passing{"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  std::optional<int64_t> least;
  const auto found = [&](std::optional<int64_t> rows) {
    if (rows) least = std::min(*rows, least.value_or(*rows));
  };
  for (const size_t reader : readers[static_cast<size_t>(id)]) {
    const Node& node = graph.nodes[reader];
    if (passing.contains(node.op) && node.inputs[0] == id && steps > 0) found(rows_chosen_by(graph, readers, node.outputs[0], steps - 1));
    if (node.op != "Gather" || node.inputs.size() < 2 || node.inputs[1] != id || attribute_int(node, "axis", 0) != 0) continue;
    const Tensor* table = constant_of(graph, node.inputs[0]);
    if (table != nullptr && !table->shape.empty()) found(table->shape[0]);
  }
  return least;
}

}  // namespace

std::map<std::string, int64_t> integer_values(const Graph& graph) {
  std::map<std::string, int64_t> values;
  const auto readers = consumers(graph);
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[id];
    if (input.type != DataType::i64 && input.type != DataType::i32) continue;
    values[input.name] = std::max<int64_t>(1, rows_chosen_by(graph, readers, id).value_or(2));
  }
  return values;
}

}  // namespace deepgap
