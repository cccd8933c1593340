#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

namespace deepgap {
namespace {

using dnnl::algorithm;
using dnnl::memory;

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool is_variable_f32(const Lowering& lowering, ValueId id) {
  return lowering.type(id) == DataType::f32 && lowering.constant(id) == nullptr;
}

algorithm binary_algorithm(const std::string& op) {
  if (op == "Add") return algorithm::binary_add;
  if (op == "Sub") return algorithm::binary_sub;
  if (op == "Mul") return algorithm::binary_mul;
  return algorithm::binary_div;
}

}  // namespace

bool lower_binary(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  ValueId first = node.inputs[0], second = node.inputs[1];
  const auto target = lowering.dims(operation.output);
  const bool commutes = node.op == "Add" || node.op == "Mul";
  if (commutes && (lowering.dims(first) != target || lowering.constant(first) != nullptr)) std::swap(first, second);
  // The first operand has the result's shape and decides the layout.
  if (!is_variable_f32(lowering, first) || lowering.type(second) != DataType::f32 || lowering.dims(first) != target) return false;
  const auto posts = posts_of(lowering, operation, target.size());
  if (!posts) return false;

  auto layout = lowering.layout(first);
  memory::desc other = layout;
  const auto smaller = lowering.dims(second);
  if (smaller != target) {
    memory::dims dims(target.size() - smaller.size(), 1);
    dims.insert(dims.end(), smaller.begin(), smaller.end());
    other = plain_desc(DataType::f32, dims);
  } else if (lowering.constant(second) == nullptr && is_plain(layout)) {
    const auto followed = retyped(lowering.layout(second), layout.get_data_type());
    layout = other = followed.value_or(lowering.layout(second));  // rather follow a blocked operand than undo its blocks
  }
  const dnnl::binary::primitive_desc description(lowering.engine(), binary_algorithm(node.op), layout, other, layout, posts->attributes);
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC_0, first, layout)};
  arguments.push_back(smaller == target ? lowering.read(DNNL_ARG_SRC_1, second, other)
                                        : lowering.read_viewed(DNNL_ARG_SRC_1, second, other));
  // Broadcast values are read again and again, so only the full operand may be overwritten.
  const bool shared = smaller != target && arguments[0].buffer == arguments[1].buffer;
  arguments.push_back(shared ? lowering.write(DNNL_ARG_DST, operation.output, layout)
                             : lowering.write_over(DNNL_ARG_DST, operation.output, layout, arguments[0]));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::binary(description), std::move(arguments));
  return true;
}

bool lower_activation(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const auto activation = activation_of(lowering.graph(), node);
  if (!activation || !is_variable_f32(lowering, node.inputs[0])) return false;
  const auto layout = lowering.layout(node.inputs[0]);
  dnnl::post_ops bounds;  // for its treatment of infinite bounds
  append_activation(bounds, *activation);
  EltwiseForm form{};
  bounds.get_params_eltwise(0, form.algorithm, form.alpha, form.beta);
  const dnnl::eltwise_forward::primitive_desc description(lowering.engine(), dnnl::prop_kind::forward_inference, form.algorithm, layout,
                                                          layout, form.alpha, form.beta, user_scratchpad());
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC, node.inputs[0], layout)};
  arguments.push_back(lowering.write_over(DNNL_ARG_DST, operation.output, layout, arguments[0]));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::eltwise_forward(description), std::move(arguments));
  return true;
}

bool lower_batch_norm(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const bool training = attribute_int(node, "training_mode", 0) != 0 || node.outputs.size() > 1;
  if (training || !is_variable_f32(lowering, node.inputs[0]) || lowering.dims(node.inputs[0]).size() < 2) return false;
  using dnnl::normalization_flags;
  const auto flags = normalization_flags::use_global_stats | normalization_flags::use_scale | normalization_flags::use_shift;
  const auto layout = lowering.layout(node.inputs[0]);
  const dnnl::batch_normalization_forward::primitive_desc description(lowering.engine(), dnnl::prop_kind::forward_inference, layout, layout,
                                                                      attribute_float(node, "epsilon", 1e-5F), flags, user_scratchpad());
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC, node.inputs[0], layout)};
  const int indices[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
  for (size_t i = 0; i < 4; ++i) arguments.push_back(lowering.read(indices[i], node.inputs[i + 1], lowering.plain(node.inputs[i + 1])));
  arguments.push_back(lowering.write_over(DNNL_ARG_DST, operation.output, layout, arguments[0]));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::batch_normalization_forward(description), std::move(arguments));
  return true;
}

bool lower_softmax(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (!is_variable_f32(lowering, node.inputs[0])) return false;
  const auto dims = lowering.dims(node.inputs[0]);
  const auto rank = static_cast<int64_t>(dims.size());
  const bool flattens = lowering.graph().opset < 13;  // one axis until then meant it and all after it
  int64_t axis = attribute_int(node, "axis", flattens ? 1 : -1);
  if (axis < 0) axis += rank;
  if (flattens && axis != rank - 1) return false;
  const auto kind = node.op == "Softmax" ? algorithm::softmax_accurate : algorithm::softmax_log;
  const auto layout = lowering.plain(node.inputs[0]);  // in float32
  const dnnl::softmax_forward::primitive_desc description(lowering.engine(), dnnl::prop_kind::forward_inference, kind, layout, layout,
                                                          static_cast<int>(axis), user_scratchpad());
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC, node.inputs[0], layout)};
  arguments.push_back(lowering.write_over(DNNL_ARG_DST, operation.output, layout, arguments[0]));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::softmax_forward(description), std::move(arguments));
  return true;
}

}  // namespace deepgap
