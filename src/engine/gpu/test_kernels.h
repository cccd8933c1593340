// For tests: problems as networks have them, and every variant compiled for every kind of chip without a GPU.
#pragma once

#include "cuda/compiler.h"
#include "engine/gpu/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace deepgap::gpu {

struct TestShape {
  int64_t size = 14, in = 64, out = 64, kernel = 3, stride = 1, groups = 1, dilation = 1;
};

inline Element stored_as(ComputeType compute) {
  switch (compute) {
    case ComputeType::f16:
      return Element::f16;
    case ComputeType::bf16:
      return Element::bf16;
    case ComputeType::i8:
      return Element::i8;
    case ComputeType::f8:
      return Element::e4m3;
    default:
      return Element::f32;
  }
}

// Returns a convolution of a square image, padded to keep its size; it ends with a residual and a ReLU.
inline Convolution test_convolution(ComputeType compute, const TestShape& shape) {
  Convolution problem;
  problem.compute = compute;
  problem.source = stored_as(compute);
  const auto unit = static_cast<int64_t>(16 / byte_size(problem.source));
  const auto pitch = [unit](int64_t channels) { return (channels + unit - 1) / unit * unit; };
  problem.batch = 2;
  problem.in_h = problem.in_w = shape.size;
  problem.in_channels = shape.in;
  problem.in_pitch = pitch(shape.in);
  problem.out_channels = shape.out;
  problem.out_pitch = pitch(shape.out);
  problem.kernel_h = problem.kernel_w = shape.kernel;
  problem.stride_h = problem.stride_w = shape.stride;
  problem.dilation_h = problem.dilation_w = shape.dilation;
  problem.pad_top = problem.pad_left = (shape.kernel - 1) * shape.dilation / 2;
  problem.out_h = problem.out_w = (shape.size + 2 * problem.pad_top - (shape.kernel - 1) * shape.dilation - 1) / shape.stride + 1;
  problem.groups = shape.groups;
  problem.epilogue.steps = {EpilogueStep::of(EpilogueStep::Kind::add), EpilogueStep::clamped(0, INFINITY)};
  problem.epilogue.residual = problem.epilogue.target = problem.source;
  problem.epilogue.residual_scale = 0.5f;
  problem.epilogue.target_inverse = 3.0f;
  return problem;
}

// Checks that kernels compile and keep their variables in registers: every third of all that are asked for, all with DEEPGAP_LONG_TESTS.
inline void expect_compiled(const std::vector<ConvolutionVariant>& variants, const Chip& chip) {
  static const size_t step = std::getenv("DEEPGAP_LONG_TESTS") == nullptr ? 3 : 1;
  static size_t asked = 0;
  for (const ConvolutionVariant& variant : variants)
    for (const Launch& launch : variant.launches) {
      if (asked++ % step != 0) continue;
      const cuda::KernelResources taken = cuda::resources_of(cuda::compile(launch.source, chip.target()));
      EXPECT_EQ(taken.spill_bytes + taken.stack_bytes, 0) << variant.name << " for " << chip.target();
      EXPECT_LE(launch.shared_bytes, chip.shared_bytes) << variant.name << " for " << chip.target();
    }
}

inline const std::vector<Chip>& test_chips() {
  static const std::vector<Chip> chips{{80, 108, 163 << 10}, {89, 58, 99 << 10}, {90, 132, 227 << 10}};
  return chips;
}

}  // namespace deepgap::gpu
