// BatchNormalization by given statistics, or in training mode by the batch's own.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

#include <cmath>

namespace deepgap {

namespace {

struct Statistics {
  std::vector<float> mean, variance;
};

// In double precision, in the order of memory.
Statistics statistics_of(const Tensor& x) {
  const int64_t channels = x.shape[1], size = product_of(std::span(x.shape).subspan(2));
  const auto count = static_cast<double>(x.shape[0] * size);
  const auto from = x.as<float>();
  Statistics statistics;
  for (int64_t c = 0; c < channels; ++c) {
    const auto sum = [&](auto value_of) {
      double all = 0;
      for (int64_t n = 0; n < x.shape[0]; ++n)
        for (const float value : from.subspan(static_cast<size_t>((n * channels + c) * size), static_cast<size_t>(size)))
          all += value_of(value);
      return all;
    };
    const double mean = sum([](double value) { return value; }) / count;
    statistics.mean.push_back(static_cast<float>(mean));
    statistics.variance.push_back(static_cast<float>(sum([&](double value) { return (value - mean) * (value - mean); }) / count));
  }
  return statistics;
}

// Returns what the next batch would start from: input `input` moved towards this batch's statistics.
Tensor running(const Call& call, size_t input, const std::vector<float>& now) {
  const float momentum = call.float_of("momentum", 0.9f);
  Tensor y = make_tensor(DataType::f32, call.input(input).shape);
  for (size_t c = 0; c < now.size(); ++c) writable<float>(y)[c] = call.input(input).as<float>()[c] * momentum + now[c] * (1 - momentum);
  return y;
}

std::vector<Tensor> batch_normalization(const Call& call) {
  const Tensor& x = call.input(0);
  if (call.int_of("spatial", 1) == 0) call.refuse("spatial=0 is not handled here");
  if (x.shape.size() < 2) call.fail("the input has no channels");
  const int64_t channels = x.shape[1], size = product_of(std::span(x.shape).subspan(2));
  for (size_t i = 0; i < 5; ++i) {
    call.expect(call.input(i), DataType::f32);
    if (i > 0 && call.input(i).shape != Shape{channels}) call.fail("a parameter does not have one value per channel");
  }
  const auto scale = call.input(1).as<float>(), bias = call.input(2).as<float>();
  std::span<const float> mean = call.input(3).as<float>(), variance = call.input(4).as<float>();
  const bool trains = call.int_of("training_mode", 0) != 0;
  Statistics own;
  if (trains) {
    own = statistics_of(x);
    mean = own.mean, variance = own.variance;
  }
  const double epsilon = call.float_of("epsilon", 1e-5f);
  Tensor y = make_tensor(DataType::f32, x.shape);
  const auto from = x.as<float>();
  const auto to = writable<float>(y);
  parallel_for(x.shape[0] * channels, static_cast<double>(size), [&](int64_t plane) {
    const int64_t c = plane % channels;
    const auto gain = static_cast<float>(scale[c] / std::sqrt(static_cast<double>(variance[c]) + epsilon));
    for (int64_t i = plane * size; i < (plane + 1) * size; ++i) to[i] = (from[i] - mean[c]) * gain + bias[c];
  });
  if (trains) return {y, running(call, 3, own.mean), running(call, 4, own.variance)};
  return {y};
}

const bool registered = add_operator("BatchNormalization", widened<batch_normalization>);

}  // namespace

}  // namespace deepgap
