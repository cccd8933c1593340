// The largest or smallest values of an axis.
#include "backends/libtorch/torch_operator.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/zeros_like.h>

#include <tuple>

namespace deepgap {
namespace {

template <bool largest>
at::Tensor place_of_extreme(const at::Tensor& x, int64_t axis, bool keep) {
  return largest ? at::argmax(x, axis, keep) : at::argmin(x, axis, keep);
}

template <bool largest>
TorchStep arg_extreme(const TorchCall& call) {
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", 0), shape.size()), last_place = shape[static_cast<size_t>(axis)] - 1;
  if (last_place < 0) call.refuse("there is nothing to choose from along its axis");
  const bool keep = call.int_of("keepdims", 1) != 0;
  if (call.int_of("select_last_index", 0) == 0)
    return one_output([=](const TorchFrame& frame) { return place_of_extreme<largest>(frame.in(0), axis, keep); });
  // The first from behind.
  return one_output(
      [=](const TorchFrame& frame) { return at::rsub(place_of_extreme<largest>(at::flip(frame.in(0), axis), axis, keep), last_place); });
}

// A stable sort: which of equal values come first is promised, unlike ATen's topk.
TorchStep top_k(const TorchCall& call) {
  const int64_t axis = call.axis(call.int_of("axis", -1), call.shape(0).size());
  const bool tells_values = call.node.outputs[0] != no_value;
  const int64_t count = call.output_shape(tells_values ? 0 : 1)[static_cast<size_t>(axis)];
  const bool largest = call.int_of("largest", 1) != 0;
  const bool tells_places = call.node.outputs.size() > 1 && call.node.outputs[1] != no_value;
  return [=](TorchFrame& frame) {
    const auto [values, places] = at::sort(frame.in(0), true, axis, largest);
    if (tells_values) frame.out(0) = values.narrow(axis, 0, count);
    if (tells_places) frame.out(1) = places.narrow(axis, 0, count);
  };
}

at::Tensor ones_at_largest(const at::Tensor& x, int64_t axis) { return at::scatter(at::zeros_like(x), axis, at::argmax(x, axis, true), 1); }

// Before opset 13 all dimensions from the axis on are one row.
TorchStep hardmax(const TorchCall& call) {
  const bool old = call.graph.opset < 13;
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", old ? 1 : -1), shape.size());
  if (!old) return one_output([axis](const TorchFrame& frame) { return ones_at_largest(frame.in(0), axis); });
  const int64_t columns = element_count(std::span(shape).subspan(static_cast<size_t>(axis)));
  return one_output([=](const TorchFrame& frame) { return ones_at_largest(frame.in(0).reshape({-1, columns}), 1).reshape(shape); });
}

const bool registered[] = {
    add_torch_operator("ArgMax", arg_extreme<true>),
    add_torch_operator("ArgMin", arg_extreme<false>),
    add_torch_operator("Hardmax", hardmax),
    add_torch_operator("TopK", top_k),
};

}  // namespace
}  // namespace deepgap
