// Fused nodes: what fuse_operators and fuse_quantized make and executors read.
//
// A fused node is op "Fused" of domain "deepgap". Its attribute `body` is the Graph it stands for: nodes in order, one of them the main
// operator, each later one reading the result of the one before. DequantizeLinear nodes may stand before the operator whose input they
// make, and a QuantizeLinear at the end. Between, QuantizeLinear and DequantizeLinear of the same kind round what passes. The body has no
// constants: its inputs are the node's inputs, position by position. So evaluate(body, inputs) is what the node means. Its name joins the
// names of the body's nodes with '+', without the (de)quantizers'.
#pragma once

#include "engine/passes/quantization.h"

#include <deepgap/graph.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// A function of one number. alpha and beta as the formula says.
enum class ActivationKind {
  relu,          // max(x, 0)
  leaky_relu,    // x < 0 ? alpha x : x
  clip,          // min(max(x, alpha), beta)
  sigmoid,       // 1 / (1 + exp(-x))
  tanh,          //
  elu,           // x < 0 ? alpha (exp(x) - 1) : x
  hard_sigmoid,  // min(max(alpha x + beta, 0), 1)
  hard_swish,    // x * hard_sigmoid(x, 1/6, 1/2)
  gelu_erf,      // x/2 (1 + erf(x / sqrt 2))
  gelu_tanh,     //
  softplus,      // log(1 + exp(x))
};
struct Activation {
  ActivationKind kind = ActivationKind::relu;
  float alpha = 0;
  float beta = 0;
};

// Returns nullopt if the node is not an activation, or if its bounds are not known. `graph` owns the node's ids.
std::optional<Activation> activation_of(const Graph& graph, const Node& node);

// One operation after the main operator.
struct Post {
  enum class Kind { activation, add, multiply, round } kind = Kind::activation;
  Activation activation;
  ValueId operand = no_value;                // for add and multiply: a value of the outer Graph
  std::optional<Quantization> quantization;  // for round, and for an operand of integers that stand for numbers
};

// A node as an executor sees it, fused or not.
struct Operation {
  std::string name;                                   // name of the node, or the joined names
  Node main;                                          // with the outer Graph's ids as inputs
  std::vector<Post> posts;                            // in order
  ValueId output = no_value;                          // first output
  std::vector<std::optional<Quantization>> integers;  // per input of main: set where it is integers that stand for numbers
  std::optional<Quantization> result;                 // the way the result becomes integers; unset: it stays numbers
  const Node* node = nullptr;                         // as it stands in the Graph
  const Graph* body = nullptr;                        // nullptr: not fused

  bool is_quantized() const { return result || (!integers.empty() && integers[0]); }
};
Operation operation_of(const Graph& graph, const Node& node);

// Returns one node that stands for `nodes`, which are in order and read each other's results as described above. Ids are the Graph's.
Node fused_node(const Graph& graph, std::span<const Node> nodes);
bool is_fused(const Node& node);

// Returns the nodes of its body with the ids of the Graph around it: inputs and result are the fused node's, and `add` gives one for each
// other value of the body.
std::vector<Node> parts_of(const Node& fused, const std::function<ValueId(const Graph& body, ValueId id)>& add);

}  // namespace deepgap
