// The number of inputs and outputs of ONNX's own operators, from one opset to the next, and those of com.microsoft, and which of them may
// be left out. The reader checks every node once, subgraphs included; later code and engines may then index what the operator needs.
// Operators of other domains are their engines' own.
#pragma once

#include <deepgap/graph.h>

#include <optional>
#include <string_view>

namespace deepgap {

// One letter for each input or output: x has to be there, ? may be left out, + stands for one or more, * for any number.
struct OperatorArity {
  int since = 0;  // the opset
  std::string_view inputs, outputs;
};

// The definition that counts in an opset; the oldest one in opsets before it, as engines take them. nullopt: not an operator of ONNX's.
std::optional<OperatorArity> arity_of(std::string_view op, int opset);

// Throws Error{input} naming the node where inputs or outputs are missing, or are more than the operator has. Outputs without a name are
// accepted: the reader gives a name to those that are always made.
void check_arity(const Node& node, int opset);

// Returns whether the operator makes this output whenever it runs; a node's first output counts as such.
bool always_made(const Node& node, size_t output, int opset);

// Takes away the outputs that nothing reads of operators which engines may not make them of: the mask of Dropout, the indices of MaxPool,
// the statistics of BatchNormalization. Throws Error{input} where something reads statistics of a BatchNormalization that does not train.
void leave_out_unread_outputs(Graph& graph);

}  // namespace deepgap
