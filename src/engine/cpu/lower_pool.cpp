#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

namespace deepgap {
namespace {

using dnnl::algorithm;
using dnnl::memory;

// From the integers of one quantization to those of another. `rounds`: averages lie between integers, the largest of some is one.
dnnl::post_ops requantizing_post(const Quantization& from, const Quantization& to, bool rounds) {
  dnnl::post_ops posts;
  const float factor = from.scale() / to.scale();
  if (from != to || (rounds && rounds_before_zero_point(to)))
    append_quantizing(posts, to, factor, -static_cast<float>(from.zero_point()) * factor);
  return posts;
}

bool pool(Lowering& lowering, const Operation& operation, algorithm kind, const memory::dims& target, const Windows& windows) {
  const ValueId in = operation.main.inputs[0];
  auto attributes = user_scratchpad();
  if (operation.is_quantized())
    attributes.set_post_ops(requantizing_post(*operation.integers[0], *operation.result, kind != algorithm::pooling_max));
  const auto source = lowering.layout(in);
  const dnnl::pooling_forward::primitive_desc description(lowering.engine(), dnnl::prop_kind::forward_inference, kind, source,
                                                          memory::desc(target, source.get_data_type(), memory::format_tag::any),
                                                          windows.strides, windows.kernel, windows.dilations, windows.before, windows.after,
                                                          attributes);
  if (operation.is_quantized() && is_reference(description)) return false;
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC, in, source)};
  arguments.push_back(lowering.write(DNNL_ARG_DST, operation.output, description.dst_desc()));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::pooling_forward(description), std::move(arguments));
  return true;
}

bool is_poolable(const Lowering& lowering, ValueId id) {
  const size_t rank = lowering.dims(id).size();
  const DataType type = lowering.type(id);
  const bool has_kernels = type == DataType::f32 || type == DataType::u8 || type == DataType::i8;
  return has_kernels && lowering.constant(id) == nullptr && rank >= 3 && rank <= 5;
}

}  // namespace

bool lower_pool(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const bool indices = node.outputs.size() > 1 && node.outputs[1] != no_value;
  if (!is_poolable(lowering, node.inputs[0]) || indices) return false;
  const auto source = lowering.dims(node.inputs[0]), target = lowering.dims(operation.output);
  const auto kernel = attribute_ints(node, "kernel_shape", {});
  if (kernel.size() + 2 != source.size()) return false;
  const auto windows = windows_of(node, source, target, kernel);
  for (size_t i = 0; i < kernel.size(); ++i)  // a window wholly in the padding
    if (windows.before[i] >= kernel[i] || windows.after[i] >= kernel[i]) return false;
  if (node.op == "MaxPool") return pool(lowering, operation, algorithm::pooling_max, target, windows);
  const bool count_padding = attribute_int(node, "count_include_pad", 0) != 0;
  // ONNX never counts what ceil_mode adds beyond the pads, and oneDNN would.
  if (count_padding && attribute_int(node, "ceil_mode", 0) != 0) return false;
  const auto kind = count_padding ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
  return pool(lowering, operation, kind, target, windows);
}

bool lower_global_pool(Lowering& lowering, const Operation& operation) {
  const ValueId in = operation.main.inputs[0];
  if (!is_poolable(lowering, in)) return false;
  const auto source = lowering.dims(in);
  const size_t rank = source.size() - 2;
  const Windows windows{.kernel = {source.begin() + 2, source.end()},
                        .strides = memory::dims(rank, 1),
                        .dilations = memory::dims(rank, 0),
                        .before = memory::dims(rank, 0),
                        .after = memory::dims(rank, 0)};
  const auto kind = operation.main.op == "GlobalMaxPool" ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
  return pool(lowering, operation, kind, lowering.dims(operation.output), windows);
}

bool lower_integer_pool(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (node.op == "MaxPool") return lower_pool(lowering, operation);
  // The kernels write the type they read. What pads is 0 to them: the number 0 only where that is the zero point.
  const bool pads = attribute_int(node, "count_include_pad", 0) != 0 && operation.integers[0]->zero_point() != 0;
  if (operation.integers[0]->type != operation.result->type || pads) return false;
  return node.op == "AveragePool" ? lower_pool(lowering, operation) : lower_global_pool(lowering, operation);
}

bool lower_reduce_mean(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const ValueId in = node.inputs[0];
  if (lowering.type(in) != DataType::f32 || lowering.constant(in) != nullptr) return false;
  auto axes = attribute_ints(node, "axes", {});
  if (node.inputs.size() > 1 && node.inputs[1] != no_value) {  // an input since opset 18
    const Tensor* given = lowering.constant(node.inputs[1]);
    if (given == nullptr || given->type != DataType::i64) return false;
    axes.assign(given->as<int64_t>().begin(), given->as<int64_t>().end());
  }
  memory::dims reduced = lowering.dims(in);
  if (axes.empty()) return false;
  for (int64_t axis : axes) reduced.at(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(reduced.size()) : axis)) = 1;
  auto attributes = user_scratchpad();
  const auto source = lowering.plain(in, lowering.layout(in).get_data_type());
  const auto target = *retyped(plain_desc(DataType::f32, reduced), source.get_data_type());
  if (source == target) return false;
  const dnnl::reduction::primitive_desc description(lowering.engine(), algorithm::reduction_mean, source, target, 0.0F, 0.0F, attributes);
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC, in, source)};
  auto result = lowering.write(DNNL_ARG_DST, operation.output, lowering.plain(operation.output, source.get_data_type()));
  result.desc = target;  // the same bytes with keepdims or without
  arguments.push_back(result);
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::reduction(description), std::move(arguments));
  return true;
}

}  // namespace deepgap
