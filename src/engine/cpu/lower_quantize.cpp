// Numbers to integers and back as steps of their own, and sums of integers.
#include "engine/cpu/operators.h"

namespace deepgap {
namespace {

using dnnl::algorithm;
using dnnl::memory;

void convert(Lowering& lowering, const Operation& operation, const memory::desc& from, const memory::desc& to,
             const std::optional<Quantization>& read, const std::optional<Quantization>& written) {
  auto attributes = user_scratchpad();
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_FROM, operation.main.inputs[0], from)};
  arguments.push_back(lowering.write(DNNL_ARG_TO, operation.output, to));
  const auto scale = [&](int argument, const std::optional<Quantization>& quantization) {
    if (!quantization) return;
    attributes.set_scales_mask(argument, 0);
    arguments.push_back(lowering.read_numbers(DNNL_ARG_ATTR_SCALES | argument, quantization->scales));
    if (quantization->zero_point() == 0) return;
    attributes.set_zero_points_mask(argument, 0);
    arguments.push_back(lowering.read_integer(DNNL_ARG_ATTR_ZERO_POINTS | argument, quantization->zero_point()));
  };
  scale(DNNL_ARG_FROM, read);
  scale(DNNL_ARG_TO, written);
  const dnnl::reorder::primitive_desc description(lowering.engine(), from, lowering.engine(), to, attributes);
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::reorder(description), std::move(arguments));
}

// To integers whose zero point is odd: numbers are divided by the scale as the standard words it, other integers become numbers first.
// False: oneDNN has no quick way.
bool quantize_in_steps(Lowering& lowering, const Operation& operation, const memory::desc& to, const std::optional<Quantization>& read,
                       const Quantization& written) {
  const ValueId in = operation.main.inputs[0];
  const auto from = retyped(to, lowering.layout(in).get_data_type());
  if (!from) return false;
  const memory::desc scalar = plain_desc(DataType::f32, memory::dims(to.get_dims().size(), 1));
  const float other = read ? -read->scale() * static_cast<float>(read->zero_point()) : written.scale();
  dnnl::post_ops posts;
  append_quantizing(posts, written, read ? 1 / written.scale() : 1, 0);
  auto attributes = user_scratchpad();
  attributes.set_post_ops(posts);
  if (read) attributes.set_scales_mask(DNNL_ARG_SRC_0, 0);
  const auto kind = read ? algorithm::binary_add : algorithm::binary_div;
  const dnnl::binary::primitive_desc description(lowering.engine(), kind, *from, scalar, to, attributes);
  if (is_reference(description)) return false;
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC_0, in, *from), lowering.read_numbers(DNNL_ARG_SRC_1, {other})};
  arguments[1].desc = scalar;
  arguments.push_back(lowering.write(DNNL_ARG_DST, operation.output, to));
  if (read) arguments.push_back(lowering.read_numbers(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC_0, read->scales));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::binary(description), std::move(arguments));
  return true;
}

// oneDNN 3.2 loses the zero point on the way from plain to channels-last where there are more than 16 channels (and some sizes; all
// results are wrong then). Nothing else that it reorders is.
bool loses_zero_point(const memory::desc& from, const memory::desc& to, const std::optional<Quantization>& read,
                      const std::optional<Quantization>& written) {
  const bool shifted = (read && read->zero_point() != 0) || (written && written->zero_point() != 0);
  return shifted && from.get_dims().size() > 3 && from.get_dims()[1] > 16 && is_plain(from) && !is_plain(to);
}

bool has_windows(const memory::dims& dims) { return dims.size() == 4 || dims.size() == 5; }

}  // namespace

bool lower_quantize(Lowering& lowering, const Operation& operation) {
  const ValueId in = operation.main.inputs[0];
  const bool fused = operation.body != nullptr;
  const auto result = fused ? operation.result : quantization_of(lowering.graph(), operation.main);
  if (!result || !result->per_tensor() || lowering.constant(in) != nullptr) return false;
  if (!fused && lowering.type(in) != DataType::f32) return false;
  auto from = lowering.layout(in);
  const auto type = lowering.plain(operation.output).get_data_type();
  auto to = retyped(from, type).value_or(lowering.plain(operation.output));
  // Convolutions of integers want their channels innermost; so no step of its own is needed to bring them there.
  if (has_windows(lowering.dims(in)) && (lowering.feeds_windows(operation.output) || !retyped(from, type)))
    to = channels_last_desc(type, lowering.dims(in));
  const auto read = fused ? operation.integers.at(0) : std::nullopt;
  if (rounds_before_zero_point(*result)) return quantize_in_steps(lowering, operation, to, read, *result);
  if (loses_zero_point(from, to, read, result)) from = channels_last_desc(from.get_data_type(), from.get_dims());  // in a step before
  convert(lowering, operation, from, to, read, result);
  return true;
}

bool lower_dequantize(Lowering& lowering, const Operation& operation) {
  const ValueId in = operation.main.inputs[0];
  const auto quantization = quantization_of(lowering.graph(), operation.main);
  if (!quantization || !quantization->per_tensor() || lowering.constant(in) != nullptr) return false;
  const auto from = lowering.layout(in);
  const auto type = lowering.stored_type(operation.output);
  convert(lowering, operation, from, retyped(from, type).value_or(lowering.plain(operation.output, type)), quantization, std::nullopt);
  return true;
}

// a_scale a + b_scale b - (a_scale a_zero + b_scale b_zero), the operation's posts, then / scale + zero of the result.
bool lower_integer_sum(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const auto &a = operation.integers[0], &b = operation.integers[1];
  const auto& result = operation.result;
  if (!a || !b || !result) return false;
  dnnl::post_ops posts;
  const float shift = a->scale() * static_cast<float>(a->zero_point()) + b->scale() * static_cast<float>(b->zero_point());
  if (shift != 0) posts.append_eltwise(algorithm::eltwise_linear, 1, -shift);
  for (const auto& post : operation.posts) {
    if (post.kind != Post::Kind::activation) return false;
    append_activation(posts, post.activation);
  }
  append_quantizing(posts, *result, 1 / result->scale(), 0);
  auto attributes = user_scratchpad();
  attributes.set_post_ops(posts);
  attributes.set_scales_mask(DNNL_ARG_SRC_0, 0);
  attributes.set_scales_mask(DNNL_ARG_SRC_1, 0);
  const auto first = lowering.layout(node.inputs[0]);
  const auto second = retyped(first, lowering.plain(node.inputs[1]).get_data_type());
  const auto target = retyped(first, lowering.plain(operation.output).get_data_type());
  if (!second || !target) return false;
  const dnnl::binary::primitive_desc description(lowering.engine(), algorithm::binary_add, first, *second, *target, attributes);
  if (is_reference(description)) return false;
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC_0, node.inputs[0], first),
                                      lowering.read(DNNL_ARG_SRC_1, node.inputs[1], *second)};
  arguments.push_back(lowering.write_over(DNNL_ARG_DST, operation.output, *target, arguments[0]));
  arguments.push_back(lowering.read_numbers(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC_0, a->scales));
  arguments.push_back(lowering.read_numbers(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC_1, b->scales));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::binary(description), std::move(arguments));
  return true;
}

}  // namespace deepgap
