// Resize and Upsample: one axis after the other, each a weighted sum of few elements (model/resampling.h).
#include "model/eval/kernels.h"
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/rearrange.h"
#include "model/eval/widened.h"
#include "model/resampling.h"

#include <algorithm>

namespace deepgap {
namespace {

Tensor weighted(const Tensor& x, size_t axis, const Taps& taps) {
  Shape shape = x.shape;
  shape[axis] = static_cast<int64_t>(taps.positions[0].size());
  Tensor y = make_tensor(x.type, shape);
  const std::span<const int64_t> sizes(x.shape);
  const int64_t slice = product_of(sizes.subspan(axis + 1)), outer = product_of(sizes.first(axis));
  const float* from = x.as<float>().data();
  float* to = writable<float>(y).data();
  const Kernels& kernels = current_kernels();
  parallel_for(outer, static_cast<double>(2 * shape[axis] * slice), [&](int64_t o) {
    for (int64_t i = 0; i < shape[axis]; ++i) {
      float* row = to + (o * shape[axis] + i) * slice;
      std::fill_n(row, slice, 0.0f);
      for (size_t t = 0; t < taps.positions.size(); ++t) {
        const float* source = from + (o * sizes[axis] + taps.positions[t][static_cast<size_t>(i)]) * slice;
        kernels.multiply_row(taps.weights[t][static_cast<size_t>(i)], source, 1, slice, row);
      }
    }
  });
  return y;
}

// The slices that tf_crop_and_resize finds outside of the input.
void fill_outside(Tensor& y, size_t axis, const std::vector<bool>& outside, float value) {
  const std::span<const int64_t> sizes(y.shape);
  const int64_t slice = product_of(sizes.subspan(axis + 1)), outer = product_of(sizes.first(axis));
  for (int64_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < outside.size(); ++i)
      if (outside[i]) std::fill_n(writable<float>(y).data() + (o * sizes[axis] + static_cast<int64_t>(i)) * slice, slice, value);
}

std::vector<Tensor> resize(const Call& call) {
  const Tensor& x = call.input(0);
  const auto constant = [&](size_t i) { return call.has(i) ? &call.inputs[i] : nullptr; };
  const Resizing resizing = resizing_of(call.node, call.graph.opset, x.shape, constant);
  Tensor y = x;
  std::vector<std::pair<size_t, std::vector<bool>>> outside;
  for (const ResizedAxis& axis : resizing.axes) {
    Taps taps = taps_of(resizing, axis);
    if (!taps.weights.empty()) call.expect(x, DataType::f32);
    y = taps.weights.empty() ? take(y, axis.axis, taps.positions[0]) : weighted(y, axis.axis, taps);
    if (std::find(taps.outside.begin(), taps.outside.end(), true) != taps.outside.end())
      outside.emplace_back(axis.axis, std::move(taps.outside));
  }
  if (!outside.empty()) call.expect(x, DataType::f32);
  for (const auto& [axis, places] : outside) fill_outside(y, axis, places, resizing.extrapolation_value);
  return {y};
}

const bool registered[] = {
    add_operator("Resize", widened<resize>),
    add_operator("Upsample", widened<resize>),
};

}  // namespace
}  // namespace deepgap
