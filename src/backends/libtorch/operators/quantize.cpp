// Numbers to integers and back, and products of integers: in floating point, since eager PyTorch has no kernels for them. Sums of products
// are computed in double precision, where they are exact.
#include "backends/libtorch/torch_operator.h"
#include "backends/libtorch/torch_types.h"
#include "model/packed_weights.h"
#include "model/translated_nodes.h"

#include <ATen/ops/add.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/div.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>

#include <fmt/format.h>

#include <vector>

namespace deepgap {
namespace {

TorchStep quantize(const TorchCall& call) {
  if (call.node.attributes.contains("output_dtype")) call.refuse("output_dtype is not run");
  if (call.has(2) && call.is_constant(2) && packed_content(call.constant(2)) != nullptr)
    call.refuse("levels of fewer than 8 bits or of floats are not run");
  const DataType type = call.has(2) ? call.type(2) : DataType::u8;
  const Levels levels = levels_of(call, type);
  const auto shape = shape_of_scales(call);
  const bool shifted = call.has(2);
  return one_output([=](const TorchFrame& frame) {
    at::Tensor level = at::round(at::div(frame.in(0), frame.in(1).reshape(shape)));
    if (shifted) level = at::add(level, frame.in(2).to(level.scalar_type()).reshape(shape));
    return at::clamp(level, levels.lowest, levels.highest).to(torch_type(type));
  });
}

TorchStep dequantize(const TorchCall& call) {
  const auto shape = shape_of_scales(call);
  const bool shifted = call.has(2);
  return one_output([=](const TorchFrame& frame) {
    at::Tensor level = frame.in(0).to(at::kInt);
    if (shifted) level = at::sub(level, frame.in(2).to(at::kInt).reshape(shape));
    return at::mul(level.to(frame.in(1).scalar_type()), frame.in(1).reshape(shape));
  });
}

TorchStep dynamic_quantize(const TorchCall&) {
  return [](TorchFrame& frame) {
    const at::Tensor& x = frame.in(0);
    const at::Tensor low = at::clamp_max(at::min(x), 0), high = at::clamp_min(at::max(x), 0);
    const at::Tensor range = at::div(at::sub(high, low), 255.0);
    const at::Tensor scale = at::where(range.eq(0), at::add(range, 1.0), range);
    const at::Tensor zero = at::round(at::clamp(at::div(at::mul(low, -1.0), scale), 0, 255));
    frame.out(0) = at::clamp(at::add(at::round(at::div(x, scale)), zero), 0, 255).to(at::kByte);
    if (frame.outputs() > 1) frame.out(1) = scale;
    if (frame.outputs() > 2) frame.out(2) = zero.to(at::kByte);
  };
}

// One zero point, one for each row of A, one for each column of B.
TorchStep matmul_integer(const TorchCall& call) {
  const bool rows = call.has(2) && call.shape(2).size() == 1 && call.shape(2)[0] != 1;
  const bool shifts_a = call.has(2), shifts_b = call.has(3);
  return one_output([=](const TorchFrame& frame) {
    at::Tensor a = frame.in(0).to(at::kDouble), b = frame.in(1).to(at::kDouble);
    if (shifts_a) a = at::sub(a, rows ? frame.in(2).to(at::kDouble).unsqueeze(1) : frame.in(2).to(at::kDouble));
    if (shifts_b) b = at::sub(b, frame.in(3).to(at::kDouble));
    return at::matmul(a, b).to(at::kInt);
  });
}

const bool registered[] = {
    add_torch_operator("DequantizeLinear", dequantize),
    add_torch_operator("DynamicQuantizeLinear", dynamic_quantize),
    add_torch_operator("MatMulInteger", matmul_integer),
    add_torch_operator("QuantizeLinear", quantize),
};

}  // namespace
}  // namespace deepgap
