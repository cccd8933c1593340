// Finds the maker and the readers of each value of a Graph, for passes that look for patterns. It describes the Graph at construction.
#pragma once

#include <deepgap/graph.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

class Flow {
 public:
  explicit Flow(const Graph& graph);

  // Returns nullptr for inputs, constants, no_value.
  const Node* maker(ValueId id) const;
  // Returns the maker if it is this operator of ONNX.
  const Node* made_by(ValueId id, std::string_view op) const;
  // Returns the node that alone reads the value, once; nullptr if there are more readers or the value is an output of the Graph.
  const Node* only_reader(ValueId id) const;
  // Returns the maker of this value alone, if nobody but one node needs the value.
  const Node* own_maker(ValueId id) const;
  size_t index_of(const Node& node) const { return static_cast<size_t>(&node - graph_.nodes.data()); }
  const Graph& graph() const { return graph_; }

 private:
  const Graph& graph_;
  std::vector<const Node*> makers_;           // by value
  std::vector<std::vector<size_t>> readers_;  // by value
};

// Returns the number of a constant float32 of one element.
std::optional<float> number_of(const Graph& graph, ValueId id);
// Returns that input of an operator with two inputs which is not `id`.
ValueId other_input(const Node& node, ValueId id);
// Returns whether the number differs from `value`, which is above 0, by no more than exporters' rounding.
bool is_about(std::optional<float> number, double value);

// Returns the input of the operator that this node, with those before it, writes out; none for other nodes.
using WrittenOut = std::optional<ValueId> (*)(const Flow& flow, const Node& node);
// Puts the operator where it was written out, and drops what only led there.
void put_operator(Graph& graph, const std::string& op, WrittenOut input_of);

}  // namespace deepgap
