#include "backends/libtorch/train/torch_all_reduce.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <functional>

namespace deepgap {
namespace {

constexpr size_t first_bucket_bytes = size_t{1} << 20;  // as DistributedDataParallel's

// Called when a weight's gradient was added up.
class Made final : public torch::autograd::FunctionPostHook {
 public:
  explicit Made(std::function<void()> tell) : tell_(std::move(tell)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs, const torch::autograd::variable_list&) override {
    tell_();
    return outputs;
  }

 private:
  std::function<void()> tell_;
};

}  // namespace

TorchAllReduce::TorchAllReduce(const std::vector<at::Tensor>& weights, GradientAverager& averager, size_t bucket_bytes)
    : averager_(averager) {
  size_t held = 0;
  for (auto weight = weights.rbegin(); weight != weights.rend(); ++weight) {
    const size_t limit = buckets_.size() == 1 ? std::min(first_bucket_bytes, bucket_bytes) : bucket_bytes;
    const bool full = bucket_bytes > 0 && held + weight->nbytes() > limit;
    if (buckets_.empty() || full) {
      buckets_.emplace_back();
      held = 0;
    }
    buckets_.back().weights.push_back(*weight);
    held += weight->nbytes();
  }
  if (bucket_bytes == 0) return;
  for (size_t i = 0; i < buckets_.size(); ++i)
    for (const at::Tensor& weight : buckets_[i].weights) watch(i, weight);
}

TorchAllReduce::~TorchAllReduce() {
  for (const auto& [node, hook] : hooks_) node->del_post_hook(hook);
}

// The node that adds up a weight's gradient lives as long as somebody holds it.
void TorchAllReduce::watch(size_t bucket, const at::Tensor& weight) {
  std::shared_ptr<torch::autograd::Node> node = torch::autograd::impl::grad_accumulator(weight);
  const uintptr_t hook = node->add_post_hook(std::make_unique<Made>([this, bucket] {
    if (!watching_) return;
    ++buckets_[bucket].made;
    while (next_ < buckets_.size() && buckets_[next_].made == buckets_[next_].weights.size()) send_next();
  }));
  hooks_.emplace_back(std::move(node), hook);
}

void TorchAllReduce::begin() {
  for (Bucket& bucket : buckets_) bucket.made = 0;
  next_ = 0;
  watching_ = true;
}

// A weight that the loss does not lead to has no gradient of its own, and takes part with zeros.
void TorchAllReduce::send_next() {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& weight : buckets_[next_].weights) {
    if (!weight.grad().defined()) weight.mutable_grad() = at::zeros_like(weight);
    gradients.push_back(weight.grad());
  }
  ++next_;
  averager_.average(gradients);
}

void TorchAllReduce::finish() {
  watching_ = false;
  while (next_ < buckets_.size()) send_next();
  averager_.finish();
}

}  // namespace deepgap
