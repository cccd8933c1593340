#include "plain_convolution.h"

#include "engine/gpu/float8.h"
#include "model/eval/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap::gpu {
namespace {

uint16_t read_bits(const std::byte* at, int64_t index) {
  uint16_t bits = 0;
  std::memcpy(&bits, at + index * 2, sizeof bits);
  return bits;
}

}  // namespace

double number_at(const std::byte* at, Element element, int64_t index) {
  const auto read = [&](auto zero) {
    std::memcpy(&zero, at + static_cast<size_t>(index) * sizeof zero, sizeof zero);
    return static_cast<double>(zero);
  };
  switch (element) {
    case Element::f16:
      return to_float(Half{read_bits(at, index)});
    case Element::bf16:
      return to_float(Bfloat16{read_bits(at, index)});
    case Element::e4m3:
      return from_e4m3(std::to_integer<uint8_t>(at[index]));
    case Element::i8:
      return read(int8_t{});
    case Element::u8:
      return read(uint8_t{});
    default:
      return read(float{});
  }
}

namespace {

void put_number(std::byte* at, const Epilogue& epilogue, int64_t index, float value) {
  const auto put = [&](auto number) { std::memcpy(at + static_cast<size_t>(index) * sizeof number, &number, sizeof number); };
  const float quantum = std::nearbyint(value * epilogue.target_inverse) + static_cast<float>(epilogue.target_zero);
  switch (epilogue.target) {
    case Element::f16:
      return put(to_half(value).bits);
    case Element::bf16:
      return put(to_bfloat16(value).bits);
    case Element::e4m3:
      return put(to_e4m3(value));
    case Element::i8:
      return put(static_cast<int8_t>(std::clamp(quantum, -128.0F, 127.0F)));
    case Element::u8:
      return put(static_cast<uint8_t>(std::clamp(quantum, 0.0F, 255.0F)));
    default:
      return put(value);
  }
}

double weight_at(const Convolution& problem, const Tensor& weights, int64_t index) {
  const double weight = number_at(weights.data.get(), weights.type == DataType::i8 ? Element::i8 : Element::f32, index);
  return problem.compute == ComputeType::f8 ? from_e4m3(to_e4m3(static_cast<float>(weight))) : weight;
}

// One sum, as convolution.h defines it.
double sum_of(const Convolution& p, const Tensor& weights, const std::byte* source, int64_t image, int64_t y, int64_t x, int64_t out) {
  const int64_t in_each = p.in_channels / p.groups, first = out / (p.out_channels / p.groups) * in_each;
  double sum = 0;
  for (int64_t r = 0; r < p.kernel_h; ++r)
    for (int64_t s = 0; s < p.kernel_w; ++s) {
      const int64_t in_y = y * p.stride_h - p.pad_top + r * p.dilation_h, in_x = x * p.stride_w - p.pad_left + s * p.dilation_w;
      const bool inside = in_y >= 0 && in_y < p.in_h && in_x >= 0 && in_x < p.in_w;
      for (int64_t c = 0; c < in_each; ++c) {
        const double value =
            inside ? number_at(source, p.source, ((image * p.in_h + in_y) * p.in_w + in_x) * p.in_pitch + first + c) : p.source_zero;
        sum += value * weight_at(p, weights, ((out * in_each + c) * p.kernel_h + r) * p.kernel_w + s);
      }
    }
  return sum;
}

}  // namespace

void convolve(const Convolution& p, const Tensor& weights, std::span<const float> scale_bias, const HostEpilogue& epilogue,
              const std::byte* source, const std::byte* residual, std::byte* target) {
  for (int64_t pixel = 0; pixel < p.batch * p.out_h * p.out_w; ++pixel)
    for (int64_t out = 0; out < p.out_pitch; ++out) {
      const int64_t at = pixel * p.out_pitch + out;
      if (out >= p.out_channels) {
        put_number(target, p.epilogue, at, 0);
        continue;
      }
      const double scale = p.compute == ComputeType::i8 || p.compute == ComputeType::f8 ? scale_bias[static_cast<size_t>(out)] : 1.0;
      const double bias = scale_bias[static_cast<size_t>(p.out_pitch + out)];
      const double sum = sum_of(p, weights, source, pixel / (p.out_h * p.out_w), pixel / p.out_w % p.out_h, pixel % p.out_w, out);
      float other = 0;
      if (residual != nullptr) {
        other = static_cast<float>(number_at(residual, p.epilogue.residual, at));
        const bool whole = p.epilogue.residual == Element::i8 || p.epilogue.residual == Element::u8;
        if (whole) other = (other - static_cast<float>(p.epilogue.residual_zero)) * p.epilogue.residual_scale;
      }
      put_number(target, p.epilogue, at, epilogue(static_cast<float>(sum * scale + bias), other));
    }
}

}  // namespace deepgap::gpu
