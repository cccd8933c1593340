// Convolution as its definition says: one thread for one output. Does every problem, and is what the faster families are held against.
#include "base/rounding.h"
#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr unsigned threads = 256;

std::string operand_text(const Convolution& problem) {
  if (problem.compute == ComputeType::i8)
    return fmt::format(R"(
typedef signed char Weight;
static const int outside = {};
__device__ __forceinline__ int operand(const unsigned char* p) {{ return *(const {}*)p; }}
__device__ __forceinline__ int add_product(int sum, int a, int b) {{ return sum + a * b; }}
)",
                       problem.source_zero, problem.source == Element::u8 ? "unsigned char" : "signed char");
  return fmt::format(R"(
typedef float Weight;
static const float outside = 0.0f;
__device__ __forceinline__ float operand(const unsigned char* p) {{ float v = load_one<Source>(p); return {}; }}
__device__ __forceinline__ float add_product(float sum, float a, float b) {{ return fmaf(a, b, sum); }}
)",
                     problem.compute == ComputeType::tf32 ? "rounded_to_tf32(v)" : "v");
}

std::string text_of(const Convolution& problem) {
  std::string text(kernel_prelude());
  text += epilogue_text(problem) + shape_text(problem) + operand_text(problem);
  return text + head_text(problem, "direct", threads) + kernel_file("direct");
}

// [out][y][x][in of the group], rounded as the products would: float32, or bytes.
std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const WeightReader reader(problem, weights);
  const ComputeType stored = problem.compute == ComputeType::i8 ? ComputeType::i8 : ComputeType::f32;
  std::vector<std::byte> packed(variant.packed_bytes);
  size_t position = 0;
  for (int64_t out = 0; out < problem.out_channels; out++)
    for (int64_t y = 0; y < problem.kernel_h; y++)
      for (int64_t x = 0; x < problem.kernel_w; x++)
        for (int64_t in = 0; in < problem.in_channels / problem.groups; in++)
          put_operand(packed, position++, stored, rounded(problem.compute, reader.at(out, in, y, x)));
  return packed;
}

}  // namespace

// Without outputs nothing is launched.
std::vector<ConvolutionVariant> direct_variants(const Convolution& problem, const Chip& chip) {
  ConvolutionVariant variant;
  variant.name = "direct";
  variant.pack = pack;
  variant.packed_bytes =
      static_cast<size_t>(problem.out_channels * products_per_sum(problem)) * (problem.compute == ComputeType::i8 ? 1 : 4);
  Launch launch;
  launch.entry = "direct";
  launch.source = text_of(problem);
  const int64_t outputs = problem.batch * problem.out_h * problem.out_w * problem.out_pitch;
  launch.grid = {static_cast<unsigned>(divide_up(outputs, threads)), 1, 1};
  launch.block = {threads, 1, 1};
  launch.overlaps_previous = can_overlap(chip);
  launch.arguments = arguments_of(problem);
  if (outputs > 0) variant.launches.push_back(std::move(launch));
  return {variant};
}

}  // namespace deepgap::gpu
