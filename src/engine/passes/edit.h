// Small edits that the passes share.
#pragma once

#include <deepgap/graph.h>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

bool is_onnx_op(const Node& node, std::string_view op);  // only for operators of the default domain
bool is_graph_output(const Graph& graph, ValueId id);
bool has_known_shapes(const Graph& graph, const Node& node);  // all that it reads and makes has them
// Makes every node and graph output that reads `from` read `to` instead.
void replace_uses(Graph& graph, ValueId from, ValueId to);
// Adds a value, or a constant, with a name that no other value has, made from `stem`.
ValueId add_value(Graph& graph, const std::string& stem, DataType type, const std::optional<Dims>& dims);
ValueId add_constant(Graph& graph, const std::string& stem, Tensor tensor);
// Keeps the nodes whose flag is not set.
void erase_nodes(Graph& graph, const std::vector<bool>& erase);
// Returns a constant as doubles; empty when the value is not a constant of type float32.
std::vector<double> constant_values(const Graph& graph, ValueId id);

}  // namespace deepgap
