// Numbers divided by the size of their neighbours: LRN, LpNormalization. Sums run in double precision, in the order of memory; the power of
// LRN goes through the C library (see eval_unary.cpp).
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

#include <algorithm>
#include <cmath>

namespace deepgap {

namespace {

std::vector<Tensor> lrn(const Call& call) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  if (x.shape.size() < 2) call.fail("the input has no channels");
  const int64_t size = call.int_of("size", 0), channels = x.shape[1], pixels = product_of(std::span(x.shape).subspan(2));
  if (size < 1) call.fail("size is not positive");
  const double alpha = call.float_of("alpha", 1e-4f) / static_cast<double>(size), beta = call.float_of("beta", 0.75f);
  const double bias = call.float_of("bias", 1.0f);
  Tensor y = make_tensor(DataType::f32, x.shape);
  const auto from = x.as<float>();
  const auto to = writable<float>(y);
  parallel_for(x.shape[0] * channels, static_cast<double>(pixels * (size + 40)), [&](int64_t plane) {
    const int64_t channel = plane % channels, image = plane - channel;  // counted in planes
    const int64_t first = std::max<int64_t>(0, channel - (size - 1) / 2), last = std::min(channels - 1, channel + size / 2);
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      double squares = 0;
      for (int64_t c = first; c <= last; ++c) {
        const double value = from[(image + c) * pixels + pixel];
        squares += value * value;
      }
      to[plane * pixels + pixel] = static_cast<float>(from[plane * pixels + pixel] / std::pow(bias + alpha * squares, beta));
    }
  });
  return {y};
}

std::vector<Tensor> lp_normalization(const Call& call) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  const int64_t p = call.int_of("p", 2);
  if (p != 1 && p != 2) call.fail("p is neither 1 nor 2");
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", -1), x.shape.size()));
  const int64_t count = x.shape[axis], stride = product_of(std::span(x.shape).subspan(axis + 1));
  const int64_t lines = product_of(std::span(x.shape).first(axis)) * stride;
  Tensor y = make_tensor(DataType::f32, x.shape);
  const auto from = x.as<float>();
  const auto to = writable<float>(y);
  parallel_for(lines, static_cast<double>(count), [&](int64_t line) {
    const int64_t begin = line / stride * count * stride + line % stride;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double value = from[begin + i * stride];
      sum += p == 1 ? std::abs(value) : value * value;
    }
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (int64_t i = 0; i < count; ++i) to[begin + i * stride] = norm == 0 ? 0.0f : static_cast<float>(from[begin + i * stride] / norm);
  });
  return {y};
}

const bool registered[] = {
    add_operator("LRN", widened<lrn>),
    add_operator("LpNormalization", widened<lp_normalization>),
};

}  // namespace

}  // namespace deepgap
