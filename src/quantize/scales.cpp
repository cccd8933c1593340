#include "quantize/scales.h"

#include "model/tensor_contents.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr float least_scale = 1e-20F;  // products of two stay normal numbers
constexpr double most_bias_levels = 1 << 30;

std::vector<float> floats_of(const Tensor& tensor, const std::string& node, const char* what) {
  std::vector<float> values = contents<float>(tensor);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw Error(ErrorKind::input, fmt::format("node '{}': {} hold {} at position {}; no scale fits it", node, what,
                                              std::isnan(values[i]) ? "NaN" : "infinity", i));
  }
  return values;
}

int8_t level_of(float value, float scale) { return static_cast<int8_t>(std::clamp(std::nearbyint(value / scale), -127.0F, 127.0F)); }

}  // namespace

ActivationScale activation_scale(const Range& range, const std::string& activations) {
  const bool is_signed = range.low < 0;
  ActivationScale result;
  result.type = activations == "s8" ? DataType::i8 : DataType::u8;
  result.zero_point = result.type == DataType::u8 && is_signed ? 128 : 0;
  const float levels = result.type == DataType::u8 && !is_signed ? 255 : 127;
  const float magnitude = std::max(-range.low, range.high);
  if (magnitude == 0) return result;
  result.scale = std::max(magnitude / levels, least_scale);
  if (result.scale * levels > magnitude && result.scale > least_scale) result.scale = std::nextafter(result.scale, 0.0F);
  return result;
}

float through_levels(float value, const ActivationScale& scale) {
  const float low = scale.type == DataType::u8 ? 0 : -128, high = scale.type == DataType::u8 ? 255 : 127;
  const auto zero = static_cast<float>(scale.zero_point);
  return (std::clamp(std::nearbyint(value / scale.scale) + zero, low, high) - zero) * scale.scale;
}

QuantizedWeights quantize_weights(const Tensor& weights, const Tensor* bias, int64_t axis, float input_scale, const std::string& node) {
  const std::vector<float> values = floats_of(weights, node, "weights");
  const auto channels = static_cast<size_t>(weights.shape[static_cast<size_t>(axis)]);
  const std::span<const int64_t> inner = std::span(weights.shape).subspan(static_cast<size_t>(axis) + 1);
  const auto run = static_cast<size_t>(element_count(inner));
  // Asked of elements, so neither is 0. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
  const auto channel = [&](size_t element) { return element / run % channels; };
  std::vector<float> biases(channels, 0);
  if (bias != nullptr) biases = floats_of(*bias, node, "biases");

  QuantizedWeights result;
  result.scales.assign(channels, 0);
  for (size_t i = 0; i < values.size(); ++i) result.scales[channel(i)] = std::max(result.scales[channel(i)], std::abs(values[i]));
  for (size_t c = 0; c < channels; ++c) {
    const double needed = std::abs(double{biases[c]}) / most_bias_levels / input_scale;
    result.scales[c] = std::max({result.scales[c] / 127, static_cast<float>(needed), least_scale});
  }
  result.levels = make_tensor(DataType::i8, weights.shape);
  const auto levels = writable<int8_t>(result.levels);
  for (size_t i = 0; i < values.size(); ++i) levels[i] = level_of(values[i], result.scales[channel(i)]);
  if (bias == nullptr) return result;
  result.bias = make_tensor(DataType::i32, {static_cast<int64_t>(channels)});
  const auto bias_levels = writable<int32_t>(result.bias);
  for (size_t c = 0; c < channels; ++c)
    bias_levels[c] = static_cast<int32_t>(std::nearbyint(double{biases[c]} / (double{input_scale} * result.scales[c])));
  return result;
}

}  // namespace deepgap
