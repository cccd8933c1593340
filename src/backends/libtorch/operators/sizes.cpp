// Sizes and ranges of whole numbers that a network computes while it runs, because they change from run to run.
#include "backends/libtorch/torch_operator.h"
#include "backends/libtorch/torch_types.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

namespace deepgap {
namespace {

// On the host, where the sizes of tensors are.
TorchStep shape(const TorchCall& call) {
  if (call.target.device.is_cuda()) call.refuse("the shape of its input depends on data");
  const auto rank = static_cast<int64_t>(call.rank(0));
  const auto place = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const int64_t begin = place(call.int_of("start", 0)), end = std::max(begin, place(call.int_of("end", rank)));
  return one_output([=](const TorchFrame& frame) {
    return at::tensor(frame.in(0).sizes().slice(static_cast<size_t>(begin), static_cast<size_t>(end - begin)), at::kLong);
  });
}

TorchStep range(const TorchCall& call) {
  if (call.target.device.is_cuda()) call.refuse("the shape of its output depends on data");
  const DataType type = call.output_type();
  const at::ScalarType made = type == DataType::f32 ? call.target.floats : torch_type(type);
  return one_output([made](const TorchFrame& frame) {
    return at::arange(frame.in(0).item(), frame.in(1).item(), frame.in(2).item(), at::TensorOptions(made));
  });
}

const bool registered[] = {
    add_torch_operator("Range", range),
    add_torch_operator("Shape", shape),
};

}  // namespace
}  // namespace deepgap
