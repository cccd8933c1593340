#include "backends/libtorch/train/torch_optimizer.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <optional>

namespace deepgap {
namespace {

constexpr double beta1 = 0.9, beta2 = 0.999, adam_epsilon = 1e-8;
constexpr double first_factor = 1024, growth = 2, backoff = 0.5;
constexpr int64_t growth_interval = 2000;

std::vector<at::Tensor> zeros_like_all(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& tensor : tensors) zeros.push_back(at::zeros_like(tensor.detach()));
  return zeros;
}

int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

}  // namespace

TorchOptimizer::TorchOptimizer(const TrainSettings& settings, std::vector<at::Tensor> weights)
    : settings_(settings), weights_(std::move(weights)) {
  const bool adam = settings.optimizer == Optimizer::adam || settings.optimizer == Optimizer::adamw;
  if (adam || settings.optimizer == Optimizer::momentum) first_ = zeros_like_all(weights_);
  if (!adam) return;
  second_ = zeros_like_all(weights_);
  for (const at::Tensor& weight : weights_) steps_.push_back(at::zeros({}, at::TensorOptions(weight.device()).dtype(at::kFloat)));
}

void TorchOptimizer::update(const at::Tensor& overflowed) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& weight : weights_) gradients.push_back(weight.grad());
  const std::optional<at::Tensor> found = overflowed.defined() ? std::optional(overflowed) : std::nullopt;
  const double rate = settings_.learning_rate, decay = settings_.weight_decay;
  if (settings_.optimizer == Optimizer::sgd || settings_.optimizer == Optimizer::momentum) {
    const double momentum = settings_.optimizer == Optimizer::sgd ? 0 : settings_.momentum;
    at::_fused_sgd_(weights_, gradients, first_, decay, momentum, rate, 0, false, false, false, {}, found);
  } else {
    at::_foreach_add_(steps_, 1);
    const auto fused = settings_.optimizer == Optimizer::adam
                           ? static_cast<decltype(&at::_ops::_fused_adam_::call)>(at::_ops::_fused_adam_::call)
                           : at::_ops::_fused_adamw_::call;
    fused(weights_, gradients, first_, second_, {}, steps_, rate, beta1, beta2, decay, adam_epsilon, false, false, {}, found);
    if (found) at::_foreach_sub_(steps_, std::vector<at::Tensor>(steps_.size(), overflowed.squeeze()));
  }
  for (const at::Tensor& weight : weights_) weight.mutable_grad().reset();
}

void TorchOptimizer::reset() {
  for (auto* state : {&first_, &second_, &steps_})
    if (!state->empty()) at::_foreach_zero_(*state);
  for (const at::Tensor& weight : weights_) weight.mutable_grad().reset();
}

int64_t TorchOptimizer::state_bytes() const { return bytes_of(first_) + bytes_of(second_) + bytes_of(steps_); }

TorchLossScale::TorchLossScale(double factor, at::Device device)
    : on_(factor != 1), adapts_(factor == 0), begin_(adapts_ ? first_factor : factor) {
  if (!on_) return;
  const auto options = at::TensorOptions(device).dtype(at::kFloat);
  factor_ = at::full({1}, begin_, options);
  overflowed_ = at::zeros({1}, options);
  grown_for_ = at::zeros({1}, options.dtype(at::kInt));
}

at::Tensor TorchLossScale::scaled(const at::Tensor& loss) const { return on_ ? at::mul(loss, factor_.squeeze()) : loss; }

at::Tensor TorchLossScale::unscale(const std::vector<at::Tensor>& gradients) {
  if (!on_) return {};
  overflowed_.zero_();
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflowed_, at::reciprocal(factor_));
  return overflowed_;
}

void TorchLossScale::adapt() {
  if (adapts_) at::_amp_update_scale_(factor_, grown_for_, overflowed_, growth, backoff, growth_interval);
}

void TorchLossScale::reset() {
  if (!on_) return;
  factor_.fill_(begin_);
  grown_for_.zero_();
}

}  // namespace deepgap
