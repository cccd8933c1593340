// Resize and Upsample where oneDNN's resampling takes the same elements: it has half-pixel positions alone.
#include "engine/cpu/operators.h"
#include "model/resampling.h"

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

using dnnl::algorithm;
using dnnl::memory;

// oneDNN rounds the half-pixel position; by a whole factor that is the floor of the asymmetric one, too.
bool takes_the_same(const Resizing& resizing, const ResizedAxis& axis) {
  const std::vector<int64_t> positions = taps_of(resizing, axis).positions[0];
  for (int64_t i = 0; i < axis.out; ++i) {
    const float x = (static_cast<float>(i) + 0.5f) * static_cast<float>(axis.in) / static_cast<float>(axis.out) - 0.5f;
    if (std::clamp<int64_t>(std::lround(x), 0, axis.in - 1) != positions[static_cast<size_t>(i)]) return false;
  }
  return true;
}

bool weighs_the_same(const Resizing& resizing, const ResizedAxis& axis) {
  const bool half = resizing.coordinates == "half_pixel" || (resizing.coordinates == "pytorch_half_pixel" && axis.out > 1);
  return half && axis.scale == static_cast<float>(axis.out) / static_cast<float>(axis.in);
}

bool is_resampling(const Resizing& resizing) {
  if (resizing.axes.empty() || resizing.antialias || resizing.mode == "cubic" || resizing.coordinates == "tf_crop_and_resize") return false;
  return std::all_of(resizing.axes.begin(), resizing.axes.end(), [&](const ResizedAxis& axis) {
    if (axis.axis < 2 || axis.in == 0 || axis.out == 0) return false;
    return resizing.mode == "nearest" ? takes_the_same(resizing, axis) : weighs_the_same(resizing, axis);
  });
}

}  // namespace

bool lower_resize(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const ValueId in = node.inputs[0];
  const auto source_dims = lowering.dims(in), target_dims = lowering.dims(operation.output);
  if (lowering.type(in) != DataType::f32 || lowering.constant(in) != nullptr || source_dims.size() < 3 || source_dims.size() > 5)
    return false;
  const auto input = [&](size_t i) { return i < node.inputs.size() ? lowering.constant(node.inputs[i]) : nullptr; };
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] != no_value && input(i) == nullptr) return false;
  const Resizing resizing = resizing_of(node, lowering.graph().opset, source_dims, input);
  if (!is_resampling(resizing)) return false;
  auto attributes = user_scratchpad();
  const auto source = lowering.layout(in);
  const auto kind = resizing.mode == "nearest" ? algorithm::resampling_nearest : algorithm::resampling_linear;
  const dnnl::resampling_forward::primitive_desc description(lowering.engine(), dnnl::prop_kind::forward_inference, kind, source,
                                                             memory::desc(target_dims, source.get_data_type(), memory::format_tag::any),
                                                             attributes);
  if (is_reference(description)) return false;
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC, in, source)};
  arguments.push_back(lowering.write(DNNL_ARG_DST, operation.output, description.dst_desc()));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::resampling_forward(description), std::move(arguments));
  return true;
}

}  // namespace deepgap
