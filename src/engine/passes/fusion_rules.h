// FusionRules: what an executor computes in one step, so that the passes join as much as it does and no more. Each executor says its own in
// one place (engine/cpu/fusion.h, engine/gpu/fusion.h). Those of no executor in particular, as they are made here, allow all that a fused
// node can say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

namespace deepgap {

// Whether QuantizeLinear and DequantizeLinear are taken as an offer to compute with integers, or as two operators like others.
enum class Integers { computed_with, as_operators };

struct FusionRules {
  Integers integers = Integers::as_operators;
  // Operators that others may follow: with activations, constants and one sum with another value (dense), or with activations and
  // constants (elementwise).
  std::set<std::string_view> dense{"Conv", "ConvTranspose", "Gemm", "MatMul"};
  std::set<std::string_view> elementwise{"Add", "Div", "Mul", "Sub"};
  size_t longest_chain = 6;  // an operator and what follows
  // Whether, of two convolutions that are added, a 1x1 without strides takes the sum. An executor may join it with what reads the sum.
  bool pointwise_takes_sum = false;
  // Whether a number per channel may follow an elementwise operator where a channel of a sample has one element.
  bool single_elements = true;
  // Operators that read integers and, but for the dense ones, write them.
  std::set<std::string_view> with_integers{"Add",    "AveragePool", "Conv",          "ConvTranspose", "Gemm", "GlobalAveragePool",
                                           "MatMul", "MaxPool",     "QuantizeLinear"};
  bool attention = true;             // the products around a Softmax are one step
  bool join_projections = false;     // query, key and value are one product; for attention that reads parts of rows where they lie
  bool regions = true;               // nodes that are connected by values of unknown size are one step
  int64_t most_spread_channels = 4;  // limit for a ConvTranspose that becomes a convolution of single pixels; 0: never
};

}  // namespace deepgap
