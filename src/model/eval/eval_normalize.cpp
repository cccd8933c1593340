// BatchNormalization (inference), Softmax and LogSoftmax.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"

#include <algorithm>
#include <cmath>

namespace deepgap {

namespace {

std::vector<Tensor> batch_normalization(const Call& call) {
  const Tensor& x = call.input(0);
  if (call.int_of("training_mode", 0) != 0) call.refuse("training mode is not handled here");
  if (call.int_of("spatial", 1) == 0) call.refuse("spatial=0 is not handled here");
  if (x.shape.size() < 2) call.fail("the input has no channels");
  const int64_t channels = x.shape[1], size = product_of(std::span(x.shape).subspan(2));
  for (size_t i = 0; i < 5; ++i) {
    call.expect(call.input(i), DataType::f32);
    if (i > 0 && call.input(i).shape != Shape{channels}) call.fail("a parameter does not have one value per channel");
  }
  const auto scale = call.input(1).as<float>(), bias = call.input(2).as<float>();
  const auto mean = call.input(3).as<float>(), variance = call.input(4).as<float>();
  const double epsilon = call.float_of("epsilon", 1e-5f);
  Tensor y = make_tensor(DataType::f32, x.shape);
  const auto from = x.as<float>();
  const auto to = writable<float>(y);
  parallel_for(x.shape[0] * channels, static_cast<double>(size), [&](int64_t plane) {
    const int64_t c = plane % channels;
    const auto gain = static_cast<float>(scale[c] / std::sqrt(static_cast<double>(variance[c]) + epsilon));
    for (int64_t i = plane * size; i < (plane + 1) * size; ++i) to[i] = (from[i] - mean[c]) * gain + bias[c];
  });
  return {y};
}

// Rows to normalise: `count` values, `stride` apart.
struct Lines {
  int64_t outer, count, stride;
};

// Before opset 13 everything from the axis on is one row; since then only the axis is.
Lines lines_of(const Call& call, const Shape& shape) {
  const bool old = call.graph.opset < 13;
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", old ? 1 : -1), shape.size()));
  const std::span<const int64_t> sizes(shape);
  if (old) return {product_of(sizes.first(axis)), product_of(sizes.subspan(axis)), 1};
  return {product_of(sizes.first(axis)), sizes[axis], product_of(sizes.subspan(axis + 1))};
}

void softmax_line(const float* x, float* y, int64_t count, int64_t stride, bool logarithm) {
  float largest = x[0];
  for (int64_t i = 1; i < count; ++i) largest = std::max(largest, x[i * stride]);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(x[i * stride]) - largest);
  for (int64_t i = 0; i < count; ++i) {
    const double shifted = static_cast<double>(x[i * stride]) - largest;
    y[i * stride] = static_cast<float>(logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum);
  }
}

template <bool logarithm>
std::vector<Tensor> softmax(const Call& call) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  if (x.shape.empty()) call.refuse("a single number is not handled here");
  const Lines lines = lines_of(call, x.shape);
  Tensor y = make_tensor(DataType::f32, x.shape);
  const float* from = x.as<float>().data();
  float* to = writable<float>(y).data();
  if (lines.count == 0) return {y};
  parallel_for(lines.outer * lines.stride, static_cast<double>(lines.count) * 40, [&](int64_t line) {
    const int64_t at = line / lines.stride * lines.count * lines.stride + line % lines.stride;
    softmax_line(from + at, to + at, lines.count, lines.stride, logarithm);
  });
  return {y};
}

const bool registered[] = {
    add_operator("BatchNormalization", batch_normalization),
    add_operator("LogSoftmax", softmax<true>),
    add_operator("Softmax", softmax<false>),
};

}  // namespace

}  // namespace deepgap
