// Fused nodes: what fuse_operators makes and executors read.
//
// A fused node is op "Fused" of domain "deepgap". Its attribute `body` is the Graph it stands for: nodes in order, the first one the main
// operator, each later one reading the result of the one before. The body has no constants: its inputs are the node's inputs, position by
// position. So evaluate(body, inputs) is what the node means, and its name joins the bodies' node names with '+'.
#pragma once

#include <deepgap/graph.h>

#include <optional>
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

// nullopt: the node is no activation, or its bounds are not known. `graph` owns the node's ids.
std::optional<Activation> activation_of(const Graph& graph, const Node& node);

// One operation after the main operator.
struct Post {
  enum class Kind { activation, add, multiply } kind = Kind::activation;
  Activation activation;
  ValueId operand = no_value;  // of add and multiply: the outer Graph's value
};

// A node as an executor sees it, fused or not.
struct Operation {
  std::string name;             // of the node, or the joined names
  Node main;                    // with the outer Graph's ids as inputs
  std::vector<Post> posts;      // in order
  ValueId output = no_value;    // first output
  const Node* node = nullptr;   // as it stands in the Graph
  const Graph* body = nullptr;  // nullptr: not fused
};
Operation operation_of(const Graph& graph, const Node& node);

}  // namespace deepgap
