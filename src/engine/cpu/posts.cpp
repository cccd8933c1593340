#include "engine/cpu/operators.h"
#include "engine/passes/edit.h"

#include <algorithm>
#include <limits>

namespace deepgap {

using dnnl::algorithm;
using dnnl::memory;

EltwiseForm eltwise_of(const Activation& activation) {
  const float alpha = activation.alpha, beta = activation.beta;
  switch (activation.kind) {
    case ActivationKind::relu:
      return {algorithm::eltwise_relu, 0, 0};
    case ActivationKind::leaky_relu:
      return {algorithm::eltwise_relu, alpha, 0};
    case ActivationKind::clip:
      return {algorithm::eltwise_clip, alpha, beta};
    case ActivationKind::sigmoid:
      return {algorithm::eltwise_logistic, 0, 0};
    case ActivationKind::tanh:
      return {algorithm::eltwise_tanh, 0, 0};
    case ActivationKind::elu:
      return {algorithm::eltwise_elu, alpha, 0};
    case ActivationKind::hard_sigmoid:
      return {algorithm::eltwise_hardsigmoid, alpha, beta};
    case ActivationKind::hard_swish:
      return {algorithm::eltwise_hardswish, alpha, beta};
    case ActivationKind::gelu_erf:
      return {algorithm::eltwise_gelu_erf, 0, 0};
    case ActivationKind::gelu_tanh:
      return {algorithm::eltwise_gelu_tanh, 0, 0};
    case ActivationKind::softplus:
      return {algorithm::eltwise_soft_relu, 1, 0};
  }
  return {algorithm::eltwise_linear, 1, 0};
}

void append_activation(dnnl::post_ops& posts, const Activation& activation) {
  // oneDNN's clip wants finite bounds.
  constexpr float largest = std::numeric_limits<float>::max();
  auto form = eltwise_of(activation);
  if (activation.kind == ActivationKind::clip) {
    form.alpha = std::clamp(form.alpha, -largest, largest);
    form.beta = std::clamp(form.beta, -largest, largest);
  }
  posts.append_eltwise(form.algorithm, form.alpha, form.beta);
}

bool rounds_before_zero_point(const Quantization& result) { return result.zero_point() % 2 != 0; }

void append_quantizing(dnnl::post_ops& posts, const Quantization& result, float factor, float shift) {
  const auto zero = static_cast<float>(result.zero_point());
  if (!rounds_before_zero_point(result)) return posts.append_eltwise(algorithm::eltwise_linear, factor, shift + zero);
  if (factor != 1 || shift != 0) posts.append_eltwise(algorithm::eltwise_linear, factor, shift);
  posts.append_eltwise(algorithm::eltwise_round, 0, 0);
  posts.append_eltwise(algorithm::eltwise_linear, 1, zero);
}

namespace {

int lowest_of(const Quantization& quantization) { return quantization.type == DataType::u8 ? 0 : -128; }
int highest_of(const Quantization& quantization) { return lowest_of(quantization) + 255; }

// To the nearest number that the quantization has, with numbers counted in `unit`.
void append_rounding(dnnl::post_ops& posts, const Quantization& quantization, float unit) {
  const auto zero = quantization.zero_point();
  const float step = quantization.scale() / unit;
  if (step != 1) posts.append_eltwise(algorithm::eltwise_linear, 1 / step, 0);
  posts.append_eltwise(algorithm::eltwise_round, 0, 0);
  posts.append_eltwise(algorithm::eltwise_clip, static_cast<float>(lowest_of(quantization) - zero),
                       static_cast<float>(highest_of(quantization) - zero));
  if (step != 1) posts.append_eltwise(algorithm::eltwise_linear, step, 0);
}

// Returns whether the result's integers end where the activation bends, so that quantizing does its work.
bool is_implied(const Activation& activation, const Quantization& result) {
  const auto zero = static_cast<float>(result.zero_point()), half = 0.5F;  // values less than half a step outside round to the end
  const float lowest = (static_cast<float>(lowest_of(result)) - zero + half) * result.scale();
  const float highest = (static_cast<float>(highest_of(result)) - zero - half) * result.scale();
  if (activation.kind == ActivationKind::relu) return lowest >= 0;
  return activation.kind == ActivationKind::clip && lowest >= activation.alpha && highest <= activation.beta;
}

// The step of a rounding that comes first, where everything else can be counted in it.
float unit_of(const Lowering& lowering, const Operation& operation) {
  if (operation.posts.empty() || operation.posts[0].kind != Post::Kind::round || !operation.result) return 1;
  const auto& inputs = operation.main.inputs;
  if (inputs.size() > 2 && inputs[2] != no_value && constant_values(lowering.graph(), inputs[2]).empty()) return 1;
  const bool scales = std::all_of(operation.posts.begin() + 1, operation.posts.end(), [&](const Post& post) {
    if (post.kind == Post::Kind::activation)
      return post.activation.kind == ActivationKind::relu ||
             (&post == &operation.posts.back() && is_implied(post.activation, *operation.result));
    return post.kind == Post::Kind::add && post.quantization;
  });
  return scales ? operation.posts[0].quantization->scale() : 1;
}

// A constant operand seen with the rank of the result. Leading sizes beyond it are 1.
memory::desc channel_desc(const Tensor& tensor, size_t rank) {
  memory::dims dims(rank, 1);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(rank, tensor.shape.size()));
  std::copy(tensor.shape.end() - kept, tensor.shape.end(), dims.end() - kept);
  return plain_desc(DataType::f32, dims);
}

}  // namespace

std::optional<Posts> posts_of(Lowering& lowering, const Operation& operation, size_t rank) {
  Posts result;
  result.unit = unit_of(lowering, operation);
  dnnl::post_ops posts;
  for (const auto& post : operation.posts) {
    if (post.kind == Post::Kind::round) {
      append_rounding(posts, *post.quantization, result.unit);
      continue;
    }
    if (post.kind == Post::Kind::activation) {
      if (operation.result && &post == &operation.posts.back() && is_implied(post.activation, *operation.result)) continue;
      append_activation(posts, post.activation);
      continue;
    }
    const Tensor* constant = lowering.constant(post.operand);
    if (constant == nullptr) {
      if (post.kind != Post::Kind::add || result.in_place != no_value) return std::nullopt;
      if (post.quantization) {
        posts.append_sum(post.quantization->scale() / result.unit, post.quantization->zero_point(),
                         lowering.plain(post.operand).get_data_type());
      } else {
        posts.append_sum(1.0F);
      }
      result.in_place = post.operand;
      continue;
    }
    const auto desc = channel_desc(*constant, rank);
    const int index = DNNL_ARG_ATTR_MULTIPLE_POST_OP(posts.len()) | DNNL_ARG_SRC_1;
    posts.append_binary(post.kind == Post::Kind::add ? algorithm::binary_add : algorithm::binary_mul, desc);
    result.arguments.push_back(lowering.read_constant(index, post.operand, desc, desc));
  }
  result.attributes.set_post_ops(posts);
  result.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return result;
}

StepArgument write_result(Lowering& lowering, const Operation& operation, const Posts& posts, const memory::desc& desc,
                          std::span<const StepArgument> reads) {
  if (posts.in_place == no_value) return lowering.write(DNNL_ARG_DST, operation.output, desc);
  return lowering.take(DNNL_ARG_DST, operation.output, posts.in_place, desc, reads);
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void add_scratchpad(Lowering& lowering, const dnnl::primitive_desc_base& description, std::vector<StepArgument>& arguments) {
  const auto scratch = description.scratchpad_desc();
  if (scratch.get_size() != 0) arguments.push_back(lowering.write(DNNL_ARG_SCRATCHPAD, no_value, scratch));
}

}  // namespace deepgap
