#include "model/eval/widened.h"

#include "model/eval/element_types.h"

#include <algorithm>

namespace deepgap {
namespace {

bool is_short(DataType type) { return type == DataType::f16 || type == DataType::bf16; }
bool is_float(DataType type) { return type == DataType::f32 || type == DataType::f64 || is_short(type); }

}  // namespace

std::vector<Tensor> compute_widened(const Call& call, Operator function) {
  const auto is_there = [](const Tensor& x) { return x.data != nullptr; };
  if (std::ranges::none_of(call.inputs, [&](const Tensor& x) { return is_there(x) && is_short(x.type); })) return function(call);
  const auto first = std::ranges::find_if(call.inputs, [&](const Tensor& x) { return is_there(x) && is_float(x.type); });
  std::vector<Tensor> inputs;
  for (const Tensor& x : call.inputs) inputs.push_back(is_there(x) && is_short(x.type) ? converted(x, DataType::f32) : x);
  std::vector<Tensor> outputs = function(Call(call.graph, call.node, inputs));
  for (Tensor& y : outputs)
    if (y.type == DataType::f32) y = converted(y, first->type);
  return outputs;
}

}  // namespace deepgap
