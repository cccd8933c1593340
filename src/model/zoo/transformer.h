// The encoder layers of transformers, written as PyTorch's exporter writes them: MatMul and Add for linear layers, the exact Gelu by Erf,
// attention as MatMul, Softmax, MatMul. A sequence is [N, length, size]. Constants of linear layers are [inputs, outputs], the state
// dict's transposed, as the exporter leaves them. Sizes of Reshape are those of heads alone, so that another length may be bound.
#pragma once

#include "model/zoo/network_builder.h"

#include <cstdint>
#include <string>

namespace deepgap {

struct TransformerShape {
  int64_t heads = 12;
  int64_t head_size = 64;
  int64_t hidden = 3072;
  float epsilon = 1e-12f;  // for LayerNormalization
  double dropout = 0;      // share of the attention's probabilities that is dropped

  int64_t size() const { return heads * head_size; }
};

struct Projections {
  ValueId query = no_value, key = no_value, value = no_value;  // [N, length, size]
};

class Transformer {
 public:
  Transformer(NetworkBuilder& net, const TransformerShape& shape) : net_(net), shape_(shape) {}

  // `layer` names the constants: LAYER.weight and LAYER.bias.
  ValueId linear(const std::string& layer, ValueId x, int64_t inputs, int64_t outputs, const std::string& output = {});
  ValueId project(const std::string& name, const std::string& weight, const std::string& bias, ValueId x, int64_t inputs, int64_t outputs,
                  const std::string& output = {});
  ValueId norm(const std::string& layer, ValueId x);
  ValueId gelu(const std::string& name, ValueId x);
  ValueId add(const std::string& name, ValueId a, ValueId b) { return net_.node("Add", name, {a, b}); }
  // [N, length, size]. `mask`: added to the scores [N, heads, length, length], or no_value.
  ValueId attention(const std::string& name, const Projections& x, ValueId mask);

 private:
  ValueId heads_of(const std::string& name, ValueId x, const std::vector<int64_t>& order);

  NetworkBuilder& net_;
  TransformerShape shape_;
};

}  // namespace deepgap
