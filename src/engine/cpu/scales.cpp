#include "engine/cpu/isa.h"
#include "engine/cpu/operators.h"
#include "engine/cpu/saturation.h"
#include "engine/passes/edit.h"

#include <string_view>

namespace deepgap {

using dnnl::memory;

ElementTypes types_of(const Lowering& lowering, const Operation& operation) {
  const bool integers = operation.is_quantized();
  const auto number = lowering.number_type();
  const auto of = [&](size_t input) { return integers ? lowering.plain(operation.main.inputs[input]).get_data_type() : number; };
  return {of(0), of(1), operation.result ? lowering.plain(operation.output).get_data_type() : lowering.stored_type(operation.output)};
}

namespace {

// Scale and zero point of one argument; a zero point of 0 is left out.
void add_scale(Lowering& lowering, int argument, const Quantization& quantization, int mask, float unit, Posts& posts) {
  posts.attributes.set_scales_mask(argument, quantization.per_tensor() ? 0 : mask);
  std::vector<float> scales = quantization.scales;
  for (float& scale : scales) scale /= unit;
  posts.arguments.push_back(lowering.read_numbers(DNNL_ARG_ATTR_SCALES | argument, scales));
  if (!quantization.per_tensor() || quantization.zero_point() == 0) return;
  posts.attributes.set_zero_points_mask(argument, 0);
  posts.arguments.push_back(lowering.read_integer(DNNL_ARG_ATTR_ZERO_POINTS | argument, quantization.zero_point()));
}

}  // namespace

void add_scales(Lowering& lowering, const Operation& operation, int channel_mask, Posts& posts) {
  if (!operation.is_quantized()) return;
  add_scale(lowering, DNNL_ARG_SRC, *operation.integers.at(0), 0, 1, posts);
  add_scale(lowering, DNNL_ARG_WEIGHTS, *operation.integers.at(1), channel_mask, posts.unit, posts);
  if (!operation.result) return;
  if (!operation.result->per_tensor() || !rounds_before_zero_point(*operation.result))
    return add_scale(lowering, DNNL_ARG_DST, *operation.result, 0, posts.unit, posts);
  dnnl::post_ops operations = posts.attributes.get_post_ops();
  append_quantizing(operations, *operation.result, posts.unit / operation.result->scale(), 0);
  posts.attributes.set_post_ops(operations);
}

StepArgument read_bias(Lowering& lowering, const Operation& operation, const Posts& posts, const memory::desc& desc) {
  const ValueId id = operation.main.inputs[2];
  if (posts.unit == 1) return lowering.read_viewed(DNNL_ARG_BIAS, id, desc);
  std::vector<float> numbers;
  for (const double number : constant_values(lowering.graph(), id)) numbers.push_back(static_cast<float>(number) / posts.unit);
  StepArgument bias = lowering.read_numbers(DNNL_ARG_BIAS, numbers);
  bias.desc = desc;
  return bias;
}

bool is_exact(const Lowering& lowering, const Operation& operation, size_t channel_axis) {
  if (!operation.is_quantized() || multiplies_integers_exactly()) return true;
  const Tensor* weights = lowering.constant(operation.main.inputs[1]);
  return weights != nullptr && !can_saturate(*weights, channel_axis, operation.integers[0]->type);
}

bool is_reference(const dnnl::primitive_desc_base& description) {
  return std::string_view(description.impl_info_str()).find("ref") != std::string_view::npos;
}

}  // namespace deepgap
