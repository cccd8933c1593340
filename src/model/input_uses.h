// Where the numbers of a network's input go: which nodes read them, as they are, moved, or in another type or shape. Bodies of If and Loop
// are looked into.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace deepgap {

// One input of a node that reads them.
struct InputUse {
  std::span<const Graph* const> scopes;  // the network, then the bodies down to the node's graph
  const Node& node;
  size_t input = 0;
  int64_t added = 0;      // constants on the way
  bool computed = false;  // by arithmetic on the way

  const Graph& graph() const { return *scopes.back(); }
  // Returns the content of another input of the node, which may come from a graph around its own.
  const Tensor* constant(size_t index) const;
  std::optional<Dims> dims(size_t index) const;
  // One size at batch 1; an axis below 0 counts from the end. nullopt: not known, or not there.
  std::optional<int64_t> size(size_t index, int64_t axis) const;
};

// Calls `visit` for each use. With `through_arithmetic` also behind sums, products, comparisons and the like.
void visit_uses(const Graph& graph, ValueId input, bool through_arithmetic, const std::function<void(const InputUse&)>& visit);

}  // namespace deepgap
