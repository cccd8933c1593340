// Questions and small edits on a Graph that several rooms need.
#pragma once

#include <deepgap/graph.h>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// Attribute access with the ONNX default; throws Error{input} naming node and attribute when the type is another.
int64_t attribute_int(const Node& node, std::string_view name, int64_t fallback);
float attribute_float(const Node& node, std::string_view name, float fallback);
std::string attribute_string(const Node& node, std::string_view name, const std::string& fallback);
std::vector<int64_t> attribute_ints(const Node& node, std::string_view name, const std::vector<int64_t>& fallback);

const Tensor* constant_of(const Graph& graph, ValueId id);  // nullptr when not a constant
Shape known_shape(const Graph& graph, ValueId id);          // throws Error{input} naming the value when a size is not known
std::vector<Shape> known_shapes(const Graph& graph, std::span<const ValueId> ids);
std::vector<std::vector<size_t>> consumers(const Graph& graph);    // per value: indices of nodes that read it
std::vector<std::optional<size_t>> producers(const Graph& graph);  // per value: index of the node that makes it
bool is_known(const Graph& graph, ValueId id);                     // every size of its shape
// Throws Error{input} naming the first thing that breaks graph.h's promise (order, uniqueness, dangling names).
void validate(const Graph& graph);
// Puts nodes into topological order, keeping the given order where it is one. Throws Error{input} naming the nodes of a cycle.
void sort_nodes(Graph& graph);
// Subgraphs (of If, Loop, Scan) may read values of the graphs around them: such a value stands among the subgraph's values by its outer
// name, and nothing in the subgraph makes it. These names, also those of subgraphs inside.
std::set<std::string> captured_names(const Graph& graph);
// Replaces symbols by sizes everywhere and infers shapes again. Constants are shared, not copied.
Graph bind_symbols(const Graph& graph, const std::map<std::string, int64_t>& symbols);
// Sets the dims of named inputs (a dimension of -1 stays as it is). Throws Error{usage} for an input that is not there.
Graph bind_shapes(const Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes);

// Every output's type and dims from the inputs', node by node; rules are in shape_rules_*.cpp, one function per operator, registered by
// name. Unknown operators leave their outputs unknown. Throws Error{input} naming the node for contradictions.
// Sizes carry through integer arithmetic (Shape -> Gather -> Concat -> Reshape) where they are known. A size that depends on open ones in
// a way that `size * symbol` cannot say gets a symbol of its own, "VALUE.AXIS", which binding replaces. An operator without a rule leaves
// its outputs as they are, so what a file says of them stays.
void infer_shapes(Graph& graph);
std::vector<std::string> shape_inferred_operators();  // sorted

struct NodeCount {
  int64_t macs = 0;   // Conv, ConvTranspose, Gemm, MatMul
  int64_t flop = 0;   // 2*macs + one per element for the rest that compute
  int64_t bytes = 0;  // inputs, weights and outputs once each
};
NodeCount count_node(const Graph& bound, const Node& node);   // every shape known
NodeCount known_count(const Graph& bound, const Node& node);  // likewise; nothing where a shape is one that only the run knows
// The constants that count as parameters, ascending. Training changes those of them that are floating-point numbers.
std::vector<ValueId> parameter_constants(const Graph& graph);
std::vector<ValueId> trainable_constants(const Graph& graph);
// Returns the multiply-accumulates of each node for one item (N = 1), in the order of the nodes; empty where other sizes are open.
std::vector<int64_t> node_macs(const Graph& graph);
// Binds N = 1 for the per-item counts; these are -1 where other sizes are open. Constants without data (a network not yet filled) count
// like others, and content_hash then says nothing of weights.
GraphSummary summarize(const Graph& graph);
// The content_hash alone: 128 bits as hex, the same for a model written and read again.
std::string graph_hash(const Graph& graph);
// Symbols of the inputs' open sizes, each with the first place it stands: {"H", "input 'x', dimension 2"}.
std::map<std::string, std::string> open_symbols(const Graph& graph);

}  // namespace deepgap
