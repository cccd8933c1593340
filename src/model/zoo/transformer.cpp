#include "model/zoo/transformer.h"

#include <cmath>

namespace deepgap {

ValueId Transformer::project(const std::string& name, const std::string& weight, const std::string& bias, ValueId x, int64_t inputs,
                             int64_t outputs, const std::string& output) {
  const ValueId product = net_.node("MatMul", name, {x, net_.weight(weight, {inputs, outputs})});
  return net_.node("Add", name + ".add", {product, net_.weight(bias, {outputs})}, {}, output);
}

ValueId Transformer::linear(const std::string& layer, ValueId x, int64_t inputs, int64_t outputs, const std::string& output) {
  return project(layer, layer + ".weight", layer + ".bias", x, inputs, outputs, output);
}

ValueId Transformer::norm(const std::string& layer, ValueId x) {
  const ValueId gain = net_.weight(layer + ".weight", {shape_.size()}), shift = net_.weight(layer + ".bias", {shape_.size()});
  return net_.node("LayerNormalization", layer, {x, gain, shift}, {{"axis", int64_t{-1}}, {"epsilon", shape_.epsilon}});
}

// x/2 (1 + erf(x / sqrt 2))
ValueId Transformer::gelu(const std::string& name, ValueId x) {
  ValueId y = net_.node("Div", name + ".div", {x, net_.scalar("gelu.root_of_two", std::sqrt(2.0f))});
  y = net_.node("Add", name + ".add", {net_.node("Erf", name + ".erf", {y}), net_.scalar("gelu.one", 1.0f)});
  return net_.node("Mul", name + ".half", {net_.node("Mul", name + ".mul", {x, y}), net_.scalar("gelu.half", 0.5f)});
}

ValueId Transformer::heads_of(const std::string& name, ValueId x, const std::vector<int64_t>& order) {
  const ValueId apart =
      net_.node("Reshape", name + ".heads", {x, net_.integers("attention.apart", {0, 0, shape_.heads, shape_.head_size})});
  return net_.node("Transpose", name + ".transposed", {apart}, {{"perm", order}});
}

ValueId Transformer::attention(const std::string& name, const Projections& x, ValueId mask) {
  const ValueId query = heads_of(name + ".query", x.query, {0, 2, 1, 3});
  const ValueId key = heads_of(name + ".key", x.key, {0, 2, 3, 1});
  const ValueId value = heads_of(name + ".value", x.value, {0, 2, 1, 3});
  ValueId scores = net_.node("MatMul", name + ".scores", {query, key});
  scores = net_.node("Div", name + ".scaled", {scores, net_.scalar("attention.scale", std::sqrt(static_cast<float>(shape_.head_size)))});
  if (mask != no_value) scores = add(name + ".masked", scores, mask);
  const ValueId all_shares = net_.node("Softmax", name + ".softmax", {scores}, {{"axis", int64_t{-1}}});
  const ValueId shares = net_.dropout(name + ".dropout", all_shares, shape_.dropout);
  const ValueId context = net_.node("MatMul", name + ".context", {shares, value});
  const ValueId turned = net_.node("Transpose", name + ".together", {context}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  return net_.node("Reshape", name + ".joined", {turned, net_.integers("attention.joined", {0, 0, shape_.size()})});
}

}  // namespace deepgap
