#include "engine/gpu/library_epilogue.h"

#include "base/rounding.h"
#include "engine/gpu/form.h"
#include "engine/gpu/kernel_text.h"

#include <cmath>
#include <utility>

namespace deepgap::gpu {
namespace {

// More sums than that are no longer in any chip's cache when they are ended, and are much of a small card's memory.
constexpr size_t most_sums = size_t{128} << 20;
constexpr size_t workspace_alignment = 256;

bool is_relu(const EpilogueStep& step) { return step.kind == EpilogueStep::Kind::clamp && step.low == 0 && step.high == INFINITY; }

size_t sum_bytes(const Convolution& problem) { return static_cast<size_t>(pixels_of(problem) * problem.out_pitch) * sizeof(float); }

// The bias alone, in the type of the result: ConvolutionVariant::pack_scale_bias.
std::vector<std::byte> pack_bias(const Convolution& problem, const std::vector<float>& scale_bias) {
  const Element target = problem.epilogue.target;
  const auto pitch = static_cast<size_t>(problem.out_pitch);
  std::vector<std::byte> packed(pitch * byte_size(target));
  for (size_t channel = 0; channel < pitch; channel++) put_number(packed, channel, target, scale_bias[pitch + channel]);
  return packed;
}

// [out_pitch][kernel_h][kernel_w][in_pitch / groups], of a product [out_pitch][in_pitch]; zero where the padding is.
std::vector<std::byte> pack_weights(const Convolution& p, const ConvolutionVariant& variant, const Tensor& weights) {
  const WeightReader reader(p, weights);
  const int64_t group_channels = p.in_channels / p.groups, group_pitch = p.in_pitch / p.groups;
  std::vector<std::byte> packed(variant.packed_bytes);
  for (int64_t out = 0; out < p.out_channels; out++)
    for (int64_t y = 0; y < p.kernel_h; y++)
      for (int64_t x = 0; x < p.kernel_w; x++)
        for (int64_t in = 0; in < group_channels; in++)
          put_operand(packed, static_cast<size_t>(((out * p.kernel_h + y) * p.kernel_w + x) * group_pitch + in), p.compute,
                      reader.at(out, in, y, x));
  return packed;
}

}  // namespace

bool is_library_epilogue(const Convolution& problem) {
  const Epilogue& epilogue = problem.epilogue;
  if (problem.compute == ComputeType::i8 || problem.compute == ComputeType::f8) return false;
  if (epilogue.target != problem.source && epilogue.target != Element::f32) return false;
  auto step = epilogue.steps.begin();
  if (step != epilogue.steps.end() && step->kind == EpilogueStep::Kind::add && epilogue.residual == epilogue.target) ++step;
  if (step != epilogue.steps.end() && is_relu(*step)) ++step;
  return step == epilogue.steps.end();
}

bool ends_in_relu(const Epilogue& epilogue) { return !epilogue.steps.empty() && is_relu(epilogue.steps.back()); }

SumsPlace place_of_sums(const Convolution& problem, bool is_whole) {
  const bool in_place = is_whole || byte_size(problem.epilogue.target) == sizeof(float);
  return in_place ? SumsPlace{role_target, 0} : SumsPlace{role_workspace, round_up(sum_bytes(problem), workspace_alignment)};
}

bool sums_fit(const Convolution& problem, bool is_whole) { return is_whole || sum_bytes(problem) <= most_sums; }

ConvolutionVariant variant_of_call(const Convolution& problem, const Chip& chip, bool is_whole, const std::string& entry,
                                   std::shared_ptr<const LibraryCall> call, size_t workspace_bytes) {
  const SumsPlace sums = place_of_sums(problem, is_whole);
  ConvolutionVariant variant;
  variant.workspace_bytes = sums.bytes + workspace_bytes;
  variant.pack = pack_weights;
  variant.packed_bytes = static_cast<size_t>(problem.out_pitch * problem.kernel_h * problem.kernel_w * problem.in_pitch / problem.groups) *
                         operand_bytes(problem.compute);
  if (is_whole) variant.pack_scale_bias = pack_bias;
  Launch launch;
  launch.entry = entry;
  launch.library = std::move(call);
  variant.launches.push_back(std::move(launch));
  if (!is_whole) variant.launches.push_back(end_sums_launch(problem, chip, sums.role));
  return variant;
}

}  // namespace deepgap::gpu
