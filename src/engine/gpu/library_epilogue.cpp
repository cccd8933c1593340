#include "engine/gpu/library_epilogue.h"

#include "engine/gpu/kernel_text.h"

#include <cmath>

namespace deepgap::gpu {
namespace {

// More sums than that are no longer in any chip's cache when they are ended, and are much of a small card's memory.
constexpr size_t most_sums = size_t{128} << 20;
constexpr size_t workspace_alignment = 256;

bool is_relu(const EpilogueStep& step) { return step.kind == EpilogueStep::Kind::clamp && step.low == 0 && step.high == INFINITY; }

size_t rounded_up(size_t bytes) { return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment; }

size_t sum_bytes(const Convolution& problem) { return static_cast<size_t>(pixels_of(problem) * problem.out_pitch) * sizeof(float); }

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

std::vector<std::byte> pack_bias(const Convolution& problem, const std::vector<float>& scale_bias) {
  const Element target = problem.epilogue.target;
  const ComputeType as = target == Element::f16 ? ComputeType::f16 : target == Element::bf16 ? ComputeType::bf16 : ComputeType::f32;
  const auto pitch = static_cast<size_t>(problem.out_pitch);
  std::vector<std::byte> packed(pitch * byte_size(target));
  for (size_t channel = 0; channel < pitch; channel++) put_operand(packed, channel, as, scale_bias[pitch + channel]);
  return packed;
}

SumsPlace place_of_sums(const Convolution& problem, bool is_whole) {
  const bool in_place = is_whole || byte_size(problem.epilogue.target) == sizeof(float);
  return in_place ? SumsPlace{role_target, 0} : SumsPlace{role_workspace, rounded_up(sum_bytes(problem))};
}

bool sums_fit(const Convolution& problem, bool is_whole) { return is_whole || sum_bytes(problem) <= most_sums; }

}  // namespace deepgap::gpu
