// Where the numbers of a network's input go: which nodes read them, as they are, moved, or in another type or shape. Bodies of If and Loop
// are looked into.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>

namespace deepgap {

// Both ends are among the numbers.
struct NumberRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

// One node of arithmetic, seen from one of its inputs.
struct ArithmeticStep {
  const Node& node;
  size_t input = 0;
  bool whole = true;                  // its numbers are integers
  std::optional<NumberRange> others;  // values of its other inputs, where these are constants
};

// Returns numbers that the step turns into numbers of `made`, or nullopt where this operator says nothing of them. All the numbers within
// serve, but not all that serve need be within. Empty (least > most) where none do. A sum with numbers that are not known leaves each of
// two operands half of the range.
std::optional<NumberRange> before(const ArithmeticStep& step, NumberRange made);

// One input of a node that reads them.
struct InputUse {
  std::span<const Graph* const> scopes;  // the network, then the bodies down to the node's graph
  const Node& node;
  size_t input = 0;
  std::span<const ArithmeticStep> way;  // the arithmetic between the network's input and this one

  const Graph& graph() const { return *scopes.back(); }
  bool computed() const { return !way.empty(); }
  bool is_whole() const;  // its numbers are integers
  // Returns what the network's input must hold for this input to hold numbers of `wanted`; nullopt where the arithmetic does not say.
  std::optional<NumberRange> before_way(NumberRange wanted) const;
  // Returns the content of another input of the node, which may come from a graph around its own.
  const Tensor* constant(size_t index) const;
  std::optional<Dims> dims(size_t index) const;
  // One size at batch 1; an axis below 0 counts from the end. nullopt: not known, or not there.
  std::optional<int64_t> size(size_t index, int64_t axis) const;
};

// Calls `visit` for each use. With `through_arithmetic` also behind sums, products, comparisons and the like.
void visit_uses(const Graph& graph, ValueId input, bool through_arithmetic, const std::function<void(const InputUse&)>& visit);

}  // namespace deepgap
