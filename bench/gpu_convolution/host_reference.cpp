#include "host_reference.h"

#include "engine/gpu/float8.h"
#include "engine/gpu/kernel_text.h"
#include "model/eval/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap::bench {
namespace {

template <typename T>
T read(const std::vector<std::byte>& bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

struct Place {
  int64_t image, y, x, channel;
};

double sum_at(const gpu::Convolution& p, const std::vector<std::byte>& source, const gpu::WeightReader& weights, const Place& out) {
  const int64_t group_in = p.in_channels / p.groups, first = out.channel / (p.out_channels / p.groups) * group_in;
  double sum = 0;
  for (int64_t r = 0; r < p.kernel_h; r++)
    for (int64_t s = 0; s < p.kernel_w; s++) {
      const int64_t y = out.y * p.stride_h - p.pad_top + r * p.dilation_h, x = out.x * p.stride_w - p.pad_left + s * p.dilation_w;
      if (y < 0 || y >= p.in_h || x < 0 || x >= p.in_w) continue;
      for (int64_t c = 0; c < group_in; c++) {
        double a = element(source, ((out.image * p.in_h + y) * p.in_w + x) * p.in_pitch + first + c, p.source) - p.source_zero;
        if (p.compute == gpu::ComputeType::tf32) a = gpu::rounded(p.compute, static_cast<float>(a));
        sum += a * gpu::rounded(p.compute, weights.at(out.channel, c, r, s));
      }
    }
  return sum;
}

// The bias on the device makes up for source_zero over the whole window.
double bias_alone(const gpu::Convolution& p, const gpu::WeightReader& weights, const std::vector<float>& scale_bias, int64_t channel) {
  double sum = 0;
  if (p.source_zero != 0)
    for (int64_t r = 0; r < p.kernel_h; r++)
      for (int64_t s = 0; s < p.kernel_w; s++)
        for (int64_t c = 0; c < p.in_channels / p.groups; c++) sum += weights.at(channel, c, r, s);
  const auto at = static_cast<size_t>(channel), pitch = static_cast<size_t>(p.out_pitch);
  return scale_bias[pitch + at] + sum * p.source_zero * scale_bias[at];
}

double ended(const NamedProblem& named, double value, double residual) {
  using Kind = gpu::EpilogueStep::Kind;
  for (const gpu::EpilogueStep& step : named.problem.epilogue.steps) {
    if (step.kind == Kind::add) value += residual;
    if (step.kind == Kind::multiply) value *= residual;
    if (step.kind == Kind::activation) value = named.activation(value);
    if (step.kind == Kind::clamp) value = std::clamp<double>(value, step.low, step.high);
    if (step.kind == Kind::round) {
      const double low = step.integer == gpu::Element::i8 ? -128 : 0;
      value = (std::clamp(std::nearbyint(value / step.scale) + step.zero, low, low + 255) - step.zero) * step.scale;
    }
  }
  return value;
}

double residual_at(const gpu::Epilogue& epilogue, const std::vector<std::byte>& residual, int64_t index) {
  const double value = element(residual, index, epilogue.residual);
  return epilogue.residual == gpu::Element::i8 || epilogue.residual == gpu::Element::u8
             ? (value - epilogue.residual_zero) * epilogue.residual_scale
             : value;
}

}  // namespace

double element(const std::vector<std::byte>& bytes, int64_t index, gpu::Element type) {
  switch (type) {
    case gpu::Element::f32:
      return read<float>(bytes, index);
    case gpu::Element::f16:
      return to_float(Half{read<uint16_t>(bytes, index)});
    case gpu::Element::bf16:
      return to_float(Bfloat16{read<uint16_t>(bytes, index)});
    case gpu::Element::u8:
      return read<uint8_t>(bytes, index);
    case gpu::Element::e4m3:
      return gpu::from_e4m3(read<uint8_t>(bytes, index));
    default:
      return read<int8_t>(bytes, index);
  }
}

double stored(const gpu::Epilogue& epilogue, double value) {
  const bool is_signed = epilogue.target == gpu::Element::i8;
  if (!is_signed && epilogue.target != gpu::Element::u8) return value;
  const double low = is_signed ? -128 : 0;
  return std::clamp(std::nearbyint(value * epilogue.target_inverse) + epilogue.target_zero, low, low + 255);
}

std::vector<double> convolved(const NamedProblem& named, const std::vector<std::byte>& source, const Tensor& weights,
                              const std::vector<float>& scale_bias, const std::vector<std::byte>& residual) {
  const gpu::Convolution& p = named.problem;
  const gpu::WeightReader reader(p, weights);
  const bool has_residual = p.epilogue.has_residual();
  std::vector<double> bias;
  for (int64_t channel = 0; channel < p.out_channels; channel++) bias.push_back(bias_alone(p, reader, scale_bias, channel));
  std::vector<double> result;
  for (int64_t image = 0; image < p.batch; image++)
    for (int64_t y = 0; y < p.out_h; y++)
      for (int64_t x = 0; x < p.out_w; x++)
        for (int64_t channel = 0; channel < p.out_channels; channel++) {
          const auto at = static_cast<size_t>(channel);
          const double scale = p.compute == gpu::ComputeType::i8 ? scale_bias[at] : 1.0;
          const double value = sum_at(p, source, reader, {image, y, x, channel}) * scale + bias[at];
          const int64_t index = ((image * p.out_h + y) * p.out_w + x) * p.out_pitch + channel;
          result.push_back(stored(p.epilogue, ended(named, value, has_residual ? residual_at(p.epilogue, residual, index) : 0)));
        }
  return result;
}

}  // namespace deepgap::bench
