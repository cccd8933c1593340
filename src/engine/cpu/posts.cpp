#include "engine/cpu/operators.h"

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

namespace {

// A constant operand seen with the rank of the result.
memory::desc channel_desc(const Tensor& tensor, size_t rank) {
  memory::dims dims(rank, 1);
  std::copy(tensor.shape.begin(), tensor.shape.end(), dims.end() - static_cast<std::ptrdiff_t>(tensor.shape.size()));
  return plain_desc(DataType::f32, dims);
}

}  // namespace

std::optional<Posts> posts_of(Lowering& lowering, const Operation& operation) {
  Posts result;
  dnnl::post_ops posts;
  const size_t rank = operation.output == no_value ? 0 : lowering.dims(operation.output).size();
  for (const auto& post : operation.posts) {
    if (post.kind == Post::Kind::activation) {
      append_activation(posts, post.activation);
      continue;
    }
    const Tensor* constant = lowering.constant(post.operand);
    if (constant == nullptr) {
      if (post.kind != Post::Kind::add || result.in_place != no_value) return std::nullopt;
      if (post.quantization) {
        posts.append_sum(post.quantization->scale(), post.quantization->zero_point(), lowering.plain(post.operand).get_data_type());
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

void add_scratchpad(Lowering& lowering, const dnnl::primitive_desc_base& description, std::vector<StepArgument>& arguments) {
  const auto scratch = description.scratchpad_desc();
  if (scratch.get_size() != 0) arguments.push_back(lowering.write(DNNL_ARG_SCRATCHPAD, no_value, scratch));
}

}  // namespace deepgap
