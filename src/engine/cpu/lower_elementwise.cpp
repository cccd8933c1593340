#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

#include <optional>
#include <utility>

namespace deepgap {
namespace {

using dnnl::algorithm;
using dnnl::memory;

bool is_variable_f32(const Lowering& lowering, ValueId id) {
  return lowering.type(id) == DataType::f32 && lowering.constant(id) == nullptr;
}

algorithm binary_algorithm(const std::string& op) {
  if (op == "Add") return algorithm::binary_add;
  if (op == "Sub") return algorithm::binary_sub;
  if (op == "Mul") return algorithm::binary_mul;
  return algorithm::binary_div;
}

// The usual layout in blocks of channels that `layout` is, if any.
std::optional<memory::format_tag> channel_blocks(const memory::desc& layout) {
  using tag = memory::format_tag;
  const auto dims = layout.get_dims();
  for (const auto& [rank, candidate] :
       {std::pair{3, tag::aBc8b}, {4, tag::aBcd8b}, {5, tag::aBcde8b}, {3, tag::aBc16b}, {4, tag::aBcd16b}, {5, tag::aBcde16b}})
    if (static_cast<size_t>(rank) == dims.size() && layout == memory::desc(dims, layout.get_data_type(), candidate)) return candidate;
  return std::nullopt;
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
  const auto blocks = channel_blocks(layout);
  // With one sample its stride may be any number, which oneDNN 3.2 takes for a channel's in its additions: the same bytes, said plainly.
  if (blocks) layout = memory::desc(layout.get_dims(), layout.get_data_type(), *blocks);
  memory::desc other = layout, given;
  const auto smaller = lowering.dims(second);
  if (smaller != target) {
    memory::dims dims(target.size() - smaller.size(), 1);
    dims.insert(dims.end(), smaller.begin(), smaller.end());
    given = plain_desc(DataType::f32, dims);
    const bool by_channel = blocks && lowering.constant(second) != nullptr && dims[1] != 1;
    other = by_channel ? memory::desc(dims, memory::data_type::f32, *blocks) : given;  // for the quick kernels
  } else if (lowering.constant(second) == nullptr && is_plain(layout)) {
    const auto followed = retyped(lowering.layout(second), layout.get_data_type());
    layout = other = followed.value_or(lowering.layout(second));  // rather follow a blocked operand than undo its blocks
  }
  const dnnl::binary::primitive_desc description(lowering.engine(), binary_algorithm(node.op), layout, other, layout, posts->attributes);
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC_0, first, layout)};
  if (smaller == target) {
    arguments.push_back(lowering.read(DNNL_ARG_SRC_1, second, other));
  } else {
    arguments.push_back(lowering.constant(second) == nullptr ? lowering.read_viewed(DNNL_ARG_SRC_1, second, other)
                                                             : lowering.read_constant(DNNL_ARG_SRC_1, second, given, other));
  }
  // Broadcast values are read again and again, so only the full operand may be overwritten.
  const bool shared = smaller != target && arguments[0].buffer == arguments[1].buffer;
  arguments.push_back(shared ? lowering.write(DNNL_ARG_DST, operation.output, layout)
                             : lowering.write_over(DNNL_ARG_DST, operation.output, layout, arguments[0]));
  arguments.insert(arguments.end(), posts->arguments.begin(), posts->arguments.end());
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
