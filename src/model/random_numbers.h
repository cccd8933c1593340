// Operators that draw random numbers: no two engines draw the same, so that outputs which depend on them cannot be compared.
#pragma once

#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// RandomNormal, RandomUniform and their likes, Bernoulli and Multinomial: by the operator alone.
bool is_random_operator(const Node& node);
// Returns whether the node is such an operator, or a Dropout that trains, as far as its inputs are known.
bool draws_random_numbers(const Graph& graph, const Node& node);
// The first node whose random numbers reach an output, also in a body: "node 'eps' (RandomNormalLike)". Empty: no node's do.
std::string random_node(const Graph& graph);

}  // namespace deepgap
