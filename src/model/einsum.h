// The equation of Einsum, taken apart: read by its shape rule and by the evaluator.
#pragma once

#include <deepgap/graph.h>

#include <cstddef>
#include <span>
#include <vector>

namespace deepgap {

// Indices are numbered from 0: first those of the output in its order, then those that are summed over.
struct EinsumEquation {
  std::vector<std::vector<size_t>> inputs;  // the index of each axis of each input
  size_t output = 0;                        // how many indices the output has
  size_t count = 0;                         // how many there are
};

// The node's attribute "equation" for inputs of these ranks: letters, "..." for axes without a name (the same ones in every term, counted
// from the last), and without "->" the letters that stand once, in the order of the alphabet. Throws Error{input} naming the node.
EinsumEquation parse_einsum(const Node& node, std::span<const size_t> ranks);

// The equation for inputs of known shapes, and how far each index counts. An axis of size 1 is broadcast. Throws Error{input} naming the
// node where one index has two sizes.
struct EinsumSizes {
  EinsumEquation equation;
  Shape sizes;  // by index
};
EinsumSizes einsum_sizes(const Node& node, std::span<const Shape> inputs);

}  // namespace deepgap
