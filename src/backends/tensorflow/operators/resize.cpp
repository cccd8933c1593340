// Resize and Upsample, axis by axis as model/resampling.h says: TensorFlow's own kernels take positions by rules of their own.
#include "backends/tensorflow/tf_operator.h"
#include "model/resampling.h"

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

// One number for each place of the axis, broadcast over the others.
template <typename T>
TfOutput along_axis(const TfCall& call, const TfLayout& layout, const ResizedAxis& axis, DataType type, const std::vector<T>& numbers) {
  Shape shape(call.shape(0).size(), 1);
  shape[static_cast<size_t>(layout.axis(static_cast<int64_t>(axis.axis)))] = axis.out;
  Tensor tensor = make_tensor(type, shape);
  std::copy(numbers.begin(), numbers.end(), writable<T>(tensor).begin());
  return call.scope.constant(tensor);
}

TfOutput resized(const TfCall& call, const TfLayout& layout, const ResizedAxis& axis, const Taps& taps, TfOutput x) {
  TfScope& s = call.scope;
  const int64_t at = layout.axis(static_cast<int64_t>(axis.axis));
  if (taps.weights.empty()) return s.gather(x, taps.positions[0], at);
  TfOutput y;
  for (size_t t = 0; t < taps.weights.size(); ++t) {
    const TfOutput weights = s.cast(along_axis(call, layout, axis, DataType::f32, taps.weights[t]), TfScope::type_of(x));
    const TfOutput part = s.binary("Mul", s.gather(x, taps.positions[t], at), weights);
    y = t == 0 ? part : s.binary("AddV2", y, part);
  }
  return y;
}

void resize(const TfCall& call) {
  TfScope& s = call.scope;
  const auto input = [&](size_t i) -> const Tensor* { return call.has(i) ? &call.constant(i) : nullptr; };
  const Resizing resizing = resizing_of(call.node, call.graph.opset, call.shape(0), input);
  const TfLayout layout = call.layout();
  if (resizing.mode != "nearest" && !call.is_float(0) && !resizing.axes.empty()) call.refuse("mode " + resizing.mode + " of integers");
  TfOutput y = call.in(0, layout);
  for (const ResizedAxis& axis : resizing.axes) y = resized(call, layout, axis, taps_of(resizing, axis), y);
  for (const ResizedAxis& axis : resizing.axes) {
    const Taps taps = taps_of(resizing, axis);
    if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) continue;
    const std::vector<uint8_t> flags(taps.outside.begin(), taps.outside.end());
    const TfOutput outside = along_axis(call, layout, axis, DataType::boolean, flags);
    y = s.make("SelectV2").in(outside).in(s.number(TfScope::type_of(y), resizing.extrapolation_value)).in(y).out();
  }
  call.out(0, y, layout);
}

const bool registered[] = {
    add_tf_operator("Resize", resize),
    add_tf_operator("Upsample", resize),
};

}  // namespace
}  // namespace deepgap
