#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"

#include <deepgap/tensor.h>

#include <fmt/format.h>

#include <limits>

namespace deepgap::gpu {
namespace {

// One number per channel of a constant that is one number or varies along `axis` of the result alone; empty otherwise.
std::vector<float> per_channel(const Lowering& lowering, ValueId id, int64_t channels, size_t axis, size_t rank) {
  const Tensor* tensor = lowering.constant(id);
  if (tensor == nullptr || tensor->type != DataType::f32) return {};
  const auto numbers = tensor->as<float>();
  if (numbers.size() == 1) return std::vector<float>(static_cast<size_t>(channels), numbers[0]);
  if (tensor->shape.size() > rank) return {};
  const size_t lead = rank - tensor->shape.size();
  for (size_t i = 0; i < tensor->shape.size(); ++i)
    if (i + lead != axis && tensor->shape[i] != 1) return {};
  return static_cast<int64_t>(numbers.size()) == channels ? std::vector<float>(numbers.begin(), numbers.end()) : std::vector<float>{};
}

// Takes a constant per channel in where nothing but such constants came before it.
bool take_constant(EpilogueParts& parts, const Post& post, const std::vector<float>& numbers) {
  if (numbers.empty() || !parts.epilogue.steps.empty()) return false;
  if (parts.factors.empty()) {
    parts.factors.assign(numbers.size(), 1.0F);
    parts.offsets.assign(numbers.size(), 0.0F);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (post.kind == Post::Kind::multiply) {
      parts.factors[i] *= numbers[i];
      parts.offsets[i] *= numbers[i];
    } else {
      parts.offsets[i] += numbers[i];
    }
  }
  return true;
}

bool take_residual(Lowering& lowering, const Operation& operation, EpilogueParts& parts, const Post& post) {
  if (parts.residual || lowering.constant(post.operand) != nullptr) return false;
  if (lowering.shape(post.operand) != lowering.shape(operation.output)) return false;
  if (post.quantization && !post.quantization->per_tensor()) return false;
  parts.residual = post.operand;
  if (post.quantization) {
    parts.epilogue.residual_scale = post.quantization->scale();
    parts.epilogue.residual_zero = post.quantization->zero_point();
  }
  parts.epilogue.steps.push_back(EpilogueStep::of(post.kind == Post::Kind::add ? EpilogueStep::Kind::add : EpilogueStep::Kind::multiply));
  return true;
}

// Bounds in the wrong order give the upper one everywhere, which no clamp does.
EpilogueStep activation_step(const Activation& activation, bool is_rounded) {
  if (activation.kind == ActivationKind::relu) return EpilogueStep::clamped(0, std::numeric_limits<float>::infinity());
  if (activation.kind == ActivationKind::clip && activation.alpha <= activation.beta)
    return EpilogueStep::clamped(activation.alpha, activation.beta);
  EpilogueStep step = EpilogueStep::of(EpilogueStep::Kind::activation);
  const bool near = is_rounded && activation.kind == ActivationKind::gelu_erf;
  step.text = near ? "near_gelu(v)" : activation_text(activation, "v");
  return step;
}

bool take(Lowering& lowering, const Operation& operation, EpilogueParts& parts, const Post& post, int64_t channels, size_t axis) {
  if (post.kind == Post::Kind::activation) {
    parts.epilogue.steps.push_back(activation_step(post.activation, lowering.numbers().compute != ComputeType::f32 || operation.result));
    return true;
  }
  if (post.kind == Post::Kind::round) {
    if (!post.quantization->per_tensor()) return false;
    const Quantization& to = *post.quantization;
    if (to.type != DataType::i8 && to.type != DataType::u8) return false;
    parts.epilogue.steps.push_back(EpilogueStep::rounded(to.scale(), to.zero_point(), element_of(to.type)));
    return true;
  }
  if (take_constant(parts, post, per_channel(lowering, post.operand, channels, axis, lowering.shape(operation.output).size()))) return true;
  return take_residual(lowering, operation, parts, post);
}

}  // namespace

EpilogueParts epilogue_of(Lowering& lowering, const Operation& operation, int64_t channels, size_t channel_axis) {
  EpilogueParts parts;
  while (parts.used < operation.posts.size() && take(lowering, operation, parts, operation.posts[parts.used], channels, channel_axis))
    ++parts.used;
  return parts;
}

}  // namespace deepgap::gpu
