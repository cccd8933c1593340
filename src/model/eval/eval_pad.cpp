// Pad: a border of one value, or of the tensor's own elements. Any element type.
#include "model/eval/half.h"
#include "model/eval/operator.h"
#include "model/eval/rearrange.h"
#include "model/eval/strided.h"
#include "model/padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

// The value of the border: opset 2 has an attribute, later ones an input.
Tensor border_of(const Call& call, const Tensor& x) {
  if (call.has(2)) {
    if (call.input(2).type != x.type || product_of(call.input(2).shape) != 1) call.fail("the border is not one value of the input's type");
    return call.input(2);
  }
  Tensor border = make_tensor(x.type, {});
  std::memset(writable<std::byte>(border).data(), 0, border.bytes());
  const float value = call.float_of("value", 0.0f);
  if (x.type == DataType::f32) writable<float>(border)[0] = value;
  if (x.type == DataType::f64) writable<double>(border)[0] = value;
  if (x.type == DataType::f16) writable<Half>(border)[0] = to_half(value);
  return border;
}

// Begin and end of every axis, in ONNX's order: all begins, then all ends.
std::vector<int64_t> all_pads(const Call& call, size_t rank) {
  auto pads = call.ints_or_input("pads", 1, {});
  if (!call.has(3)) {
    if (pads.size() != 2 * rank) call.fail("pads do not have two numbers per axis");
    return pads;
  }
  const auto axes = call.integers(3);
  if (pads.size() != 2 * axes.size()) call.fail("pads do not have two numbers per axis");
  std::vector<int64_t> all(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(call.axis(axes[i], rank));
    all[axis] = pads[i], all[axis + rank] = pads[i + axes.size()];
  }
  return all;
}

Tensor with_border(const Call& call, const Tensor& x, const std::vector<int64_t>& pads) {
  const size_t rank = x.shape.size();
  const auto from_strides = row_major_strides(x.shape);
  Shape shape = x.shape, kept = x.shape;
  for (size_t i = 0; i < rank; ++i) {
    shape[i] += pads[i] + pads[i + rank];
    kept[i] += std::min<int64_t>(0, pads[i]) + std::min<int64_t>(0, pads[i + rank]);  // negative pads cut off
    if (shape[i] < 0 || kept[i] < 0) call.fail("pads cut off more than there is");
  }
  Tensor y = make_tensor(x.type, shape);
  std::byte* to = writable<std::byte>(y).data();
  const Tensor border = border_of(call, x);
  const auto to_strides = row_major_strides(shape);
  copy_strided(shape, byte_size(x.type), {border.data.get(), std::vector<int64_t>(rank, 0)}, {to, to_strides});
  int64_t from_offset = 0, to_offset = 0;
  for (size_t i = 0; i < rank; ++i) {
    from_offset += std::max<int64_t>(0, -pads[i]) * from_strides[i];
    to_offset += std::max<int64_t>(0, pads[i]) * to_strides[i];
  }
  const auto size = static_cast<int64_t>(byte_size(x.type));
  if (product_of(kept) > 0)
    copy_strided(kept, byte_size(x.type), {x.data.get() + from_offset * size, from_strides}, {to + to_offset * size, to_strides});
  return y;
}

std::vector<Tensor> pad(const Call& call) {
  const Tensor& x = call.input(0);
  const std::string mode = call.text_of("mode", "constant");
  const size_t rank = x.shape.size();
  const auto pads = all_pads(call, rank);
  if (mode == "constant") return {with_border(call, x, pads)};
  Tensor y = x;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t before = pads[axis], after = pads[axis + rank];
    if (before == 0 && after == 0) continue;
    if (x.shape[axis] + before + after < 0) call.fail("pads cut off more than there is");
    const auto positions = padded_positions(mode, x.shape[axis], before, after);
    if (!positions) call.fail(fmt::format("mode '{}' around an axis of size {}", mode, x.shape[axis]));
    y = take(y, axis, *positions);
  }
  return {y};
}

const bool registered = add_operator("Pad", pad);

}  // namespace
}  // namespace deepgap
