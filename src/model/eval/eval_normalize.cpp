// BatchNormalization (inference).
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

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

const bool registered = add_operator("BatchNormalization", widened<batch_normalization>);

}  // namespace

}  // namespace deepgap
