// Convolutions and products with constant weights: implicit GEMM, channels last, with what follows computed on the sums in registers.
// Several families of kernels solve one problem; each offers variants, which the tuner measures. A product of a matrix [rows, k] with
// weights [k, n] is the convolution of `rows` pixels (batch=rows, 1x1) with k channels.
//
// Layout: source [batch, in_h, in_w, in_pitch], target and residual [batch, out_h, out_w, out_pitch]; a pitch is the channels rounded up so
// that a pixel is a multiple of 16 bytes. Channels of the padding are read (their weights are 0; they hold finite numbers) and must be
// written with finite numbers (zeros). A source of at most 4 channels may have a pitch of 4 whatever the element (stem_variants; the copy
// to the device is then a fourth to a half as large).
#pragma once

#include "engine/gpu/launch.h"

#include <deepgap/tensor.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap::gpu {

// The type of what is multiplied; sums are float32, for integers int32. f32: true float32 (FFMA); tf32: float32 in memory, rounded to TF32
// by the tensor core's rules; f8: E4M3 (float8.h), from sm_89 on.
enum class ComputeType : uint8_t { f32, tf32, f16, bf16, i8, f8 };

// One operation on a result v (float), after v = sum * scale[channel] + bias[channel] (scale: with integers and FP8 alone).
struct EpilogueStep {
  enum class Kind : uint8_t {
    activation,  // `text`: an expression in v, such as "1.0f / (1.0f + expf(-v))"
    clamp,       // to low .. high; what is not a number stays so
    round,       // to an integer and back: v = (saturate(rint(v / scale) + zero) - zero) * scale
    add,         // v += residual(pixel, channel)
    multiply,    // v *= residual(pixel, channel)
  };
  Kind kind = Kind::activation;
  std::string text;
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  float scale = 1;
  int zero = 0;
  Element integer = Element::i8;  // or u8: what `round` saturates to

  static EpilogueStep of(Kind kind) { return {.kind = kind, .text = {}}; }
  static EpilogueStep clamped(float low, float high) { return {.kind = Kind::clamp, .text = {}, .low = low, .high = high}; }
  static EpilogueStep rounded(float scale, int zero, Element integer) {
    EpilogueStep step = of(Kind::round);
    step.scale = scale, step.zero = zero, step.integer = integer;
    return step;
  }
  // Returns C++ for the new v from `v` and `residual`.
  std::string expression() const;
};

struct Epilogue {
  std::vector<EpilogueStep> steps;  // at most one of kind add or multiply
  Element residual = Element::f16;  // r = (stored - residual_zero) * residual_scale where it is i8 or u8, else the stored number
  float residual_scale = 1;
  int residual_zero = 0;
  Element target = Element::f16;  // i8, u8: saturate(rint(v * target_inverse) + target_zero), rint: half to even
  float target_inverse = 1;       // 1 / scale
  int target_zero = 0;
  bool has_residual() const;
};

// The largest of windows of 3x3 results, two apart, where they lie within the image.
struct MaxPool {
  int64_t pad_top = 0, pad_left = 0, out_h = 1, out_w = 1;
};

struct Convolution {
  ComputeType compute = ComputeType::f16;
  Element source = Element::f16;  // f16, bf16, f32; with ComputeType::i8 i8 or u8, with f8 e4m3
  int source_zero = 0;            // zero point of integers: padding stands for 0, so it holds this; products use q - source_zero
  int64_t batch = 1;
  int64_t in_h = 1, in_w = 1, in_channels = 1, in_pitch = 8;
  int64_t out_h = 1, out_w = 1, out_channels = 1, out_pitch = 8;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0, dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;
  Epilogue epilogue;
  std::optional<MaxPool> pool;  // pools what the epilogue makes: the target is [batch, pool.out_h, pool.out_w, out_pitch]

  int64_t macs() const;  // multiply-accumulates
  // Returns a short name of everything above that decides which variant is fastest: the key of the tuner's cache.
  std::string key() const;
  // Return what stands before and behind the batch in the key: the same layer's at another batch.
  std::string key_before_batch() const;
  std::string key_behind_batch() const;
};

// Roles of BufferArgument in launches of this header. `scale_bias`: float32 [2][out_pitch], first what sums of integers are multiplied by
// (source scale times weight scale), then the bias, with - source_zero * sum of weights * scale already in it; for other numbers the scale
// is 1. Zero in the padding.
enum ConvolutionRole : int { role_source, role_weights, role_scale_bias, role_residual, role_target, role_workspace };

// A kernel that solves the problem. `weights`, packed as the kernel reads them, are made from ONNX's order [out_channels, in_channels /
// groups, kernel_h, kernel_w] in float32 (for i8: int8) by `pack`.
struct ConvolutionVariant {
  std::string name;  // "mma 128x128x64 s4": family, tile, stages; stable, for caches and messages
  std::vector<Launch> launches;
  size_t workspace_bytes = 0;
  std::vector<std::byte> (*pack)(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) = nullptr;
  size_t packed_bytes = 0;
  // Makes the content at role_scale_bias if it is not `scale_bias` itself; nullptr: it is.
  std::vector<std::byte> (*pack_scale_bias)(const Convolution& problem, const std::vector<float>& scale_bias) = nullptr;
  std::array<int, 10> tile{};  // the family's own numbers

  std::vector<std::byte> packed_scale_bias(const Convolution& problem, const std::vector<float>& scale_bias) const;
  bool calls_library() const;
};

// Variants worth measuring on this chip, the family's best guess first; empty where the family does not do the problem.
std::vector<ConvolutionVariant> direct_variants(const Convolution& problem, const Chip& chip);  // any problem, plainly: one output a thread
std::vector<ConvolutionVariant> mma_variants(const Convolution& problem, const Chip& chip);     // mma.sync, cp.async: sm_80 and later
std::vector<ConvolutionVariant> wgmma_variants(const Convolution& problem, const Chip& chip);   // wgmma, TMA: sm_90a
std::vector<ConvolutionVariant> depthwise_variants(const Convolution& problem, const Chip& chip);  // groups == channels
std::vector<ConvolutionVariant> stem_variants(const Convolution& problem, const Chip& chip);       // few input channels
// Returns variants for Convolution::pool, which no other family does.
std::vector<ConvolutionVariant> pooled_stem_variants(const Convolution& problem, const Chip& chip);

// Returns all of the above, best guess first; direct ones if there is nothing else, and nothing with a pool that no family does.
std::vector<ConvolutionVariant> convolution_variants(const Convolution& problem, const Chip& chip);

}  // namespace deepgap::gpu
