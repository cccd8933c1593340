// For tests: a problem with numbers whose sums are exact in every type, laid out on a device that is played, for libraries that are played
// and compute on the host.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/bound_launch.h"
#include "engine/gpu/convolution.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/library_epilogue.h"
#include "model/eval/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace deepgap::gpu {

// Returns halves and whole numbers between -1 and 1: all sums of them are exact in every type.
inline float some_number(size_t seed) { return static_cast<float>(static_cast<int>(seed * 2654435761U >> 13 & 1023) % 5 - 2) / 2; }

inline float number_at(Element element, const void* from, size_t index) {
  const auto* bytes = static_cast<const unsigned char*>(from) + index * byte_size(element);
  uint32_t bits = 0;
  std::memcpy(&bits, bytes, byte_size(element));
  if (element == Element::f16) return to_float(Half{static_cast<uint16_t>(bits)});
  if (element == Element::bf16) return to_float(Bfloat16{static_cast<uint16_t>(bits)});
  return std::bit_cast<float>(bits);
}

inline ComputeType as_compute(Element element) {
  return element == Element::f16 ? ComputeType::f16 : element == Element::bf16 ? ComputeType::bf16 : ComputeType::f32;
}

// Numbers that a problem reads.
struct Played {
  std::vector<float> source, weights, bias, residual;  // without padding

  explicit Played(const Convolution& p) {
    const bool integers = p.compute == ComputeType::i8;
    auto numbers = [seed = size_t{1}](int64_t count, bool whole) mutable {
      std::vector<float> made(static_cast<size_t>(count));
      for (float& number : made) number = some_number(++seed) * (whole ? 2 : 1);
      return made;
    };
    source = numbers(p.batch * p.in_h * p.in_w * p.in_channels, integers);
    weights = numbers(p.out_channels * products_per_sum(p), true);
    bias = numbers(p.out_channels, false);
    residual = numbers(pixels_of(p) * p.out_channels, false);
  }
  // `pixel` of the target
  float sum(const Convolution& p, size_t pixel, size_t channel) const {
    const auto at = static_cast<int64_t>(pixel);
    const int64_t image = at / (p.out_h * p.out_w), y = at / p.out_w % p.out_h, x = at % p.out_w;
    float sum = 0;
    for (int64_t ky = 0; ky < p.kernel_h; ++ky)
      for (int64_t kx = 0; kx < p.kernel_w; ++kx) {
        const int64_t from_y = y * p.stride_h - p.pad_top + ky * p.dilation_h, from_x = x * p.stride_w - p.pad_left + kx * p.dilation_w;
        if (from_y < 0 || from_y >= p.in_h || from_x < 0 || from_x >= p.in_w) continue;
        sum += products(p, (image * p.in_h + from_y) * p.in_w + from_x, static_cast<int64_t>(channel), ky, kx);
      }
    return sum;
  }

 private:
  float products(const Convolution& p, int64_t pixel, int64_t channel, int64_t ky, int64_t kx) const {
    const int64_t depth = p.in_channels / p.groups, first = channel / (p.out_channels / p.groups) * depth;
    float sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += source[static_cast<size_t>(pixel * p.in_channels + first + k)] *
             weights[static_cast<size_t>(((channel * depth + k) * p.kernel_h + ky) * p.kernel_w + kx)];
    return sum;
  }
};

// Padding holds ones, which must not matter.
inline std::vector<std::byte> padded(const std::vector<float>& numbers, int64_t rows, int64_t columns, int64_t pitch, ComputeType as) {
  std::vector<std::byte> bytes(static_cast<size_t>(rows * pitch) * operand_bytes(as));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < pitch; ++column)
      put_operand(bytes, static_cast<size_t>(row * pitch + column), as,
                  column < columns ? numbers[static_cast<size_t>(row * columns + column)] : 1.0F);
  return bytes;
}

inline std::vector<float> scale_bias_of(const Convolution& p, const Played& played) {
  std::vector<float> both(static_cast<size_t>(2 * p.out_pitch), 0.0F);
  std::fill_n(both.begin(), p.out_channels, 1.0F);
  std::copy(played.bias.begin(), played.bias.end(), both.begin() + p.out_pitch);
  return both;
}

inline Tensor tensor_of(const Convolution& p, const Played& played) {
  const Shape shape{p.out_channels, p.in_channels / p.groups, p.kernel_h, p.kernel_w};
  Tensor weights = make_tensor(p.compute == ComputeType::i8 ? DataType::i8 : DataType::f32, shape);
  for (size_t i = 0; i < played.weights.size(); ++i)
    if (p.compute == ComputeType::i8)
      writable<int8_t>(weights)[i] = static_cast<int8_t>(played.weights[i]);
    else
      writable<float>(weights)[i] = played.weights[i];
  return weights;
}

// Returns what the first launch, which calls a fake library, leaves in the buffer of role `result`.
inline std::vector<std::byte> first_launch(const Convolution& p, const ConvolutionVariant& variant, const Played& played, int result,
                                           size_t result_bytes) {
  const auto filled = [](const std::vector<std::byte>& bytes) {
    cuda::DeviceMemory memory(bytes.size());
    cuda::upload(memory.address(), bytes.data(), bytes.size());
    return memory;
  };
  const Element target = p.epilogue.target;
  std::vector<cuda::DeviceMemory> buffers;
  buffers.push_back(filled(padded(played.source, p.batch * p.in_h * p.in_w, p.in_channels, p.in_pitch, p.compute)));
  buffers.push_back(filled(variant.pack(p, variant, tensor_of(p, played))));
  EXPECT_EQ(buffers.back().bytes(), variant.packed_bytes);
  buffers.push_back(filled(variant.packed_scale_bias(p, scale_bias_of(p, played))));
  buffers.push_back(filled(padded(played.residual, pixels_of(p), p.out_channels, p.out_pitch, as_compute(target))));
  const size_t poisoned = static_cast<size_t>(pixels_of(p) * p.out_pitch) * byte_size(target);
  buffers.push_back(filled(std::vector<std::byte>(poisoned, std::byte{0xff})));
  buffers.emplace_back(variant.workspace_bytes);
  const cuda::Stream stream;
  BoundLaunch(variant.launches.at(0), nullptr, [&](int role) { return buffers.at(static_cast<size_t>(role)).address(); }).run(stream.get());
  const auto* from = reinterpret_cast<const std::byte*>(buffers[static_cast<size_t>(result)].address());
  return {from, from + result_bytes};
}

}  // namespace deepgap::gpu
