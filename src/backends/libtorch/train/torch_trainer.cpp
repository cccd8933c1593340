#include "backends/libtorch/train/torch_trainer.h"

#include "backends/common/train_ports.h"
#include "backends/libtorch/train/held_memory.h"
#include "model/graph_tools.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/mul.h>
#include <c10/core/AutogradState.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

// The backward pass runs where it is called: its work belongs to what this thread captures, and no other has to be woken.
class OnThisThread {
 public:
  OnThisThread() : before_(c10::AutogradState::get_tls_state().get_multithreading_enabled()) {
    c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  }
  ~OnThisThread() { c10::AutogradState::get_tls_state().set_multithreading_enabled(before_); }
  OnThisThread(const OnThisThread&) = delete;
  OnThisThread& operator=(const OnThisThread&) = delete;

 private:
  bool before_;
};

double scale_of(const TrainSettings& settings, const TorchTarget& target) {
  if (settings.loss_scale != 0) return settings.loss_scale;
  return target.autocast == at::kHalf ? 0 : 1;  // bfloat16 has float32's range
}

}  // namespace

TorchTrainer::TorchTrainer(const Model& model, const TorchTarget& target, const TrainSettings& settings)
    : model_(model),
      graph_(ending_with_scores(model.graph(), settings.loss)),
      target_(target),
      settings_(settings),
      program_(graph_, target),
      loss_scale_(scale_of(settings, target), target.device) {
  if (trainable_constants(graph_).empty())
    throw Error(ErrorKind::refused, fmt::format("libtorch: {} has no weights that training could change", model.name()));
  at::manual_seed(settings_.seed);
}

TorchTrainer::~TorchTrainer() = default;

void TorchTrainer::prepare(int64_t batch) {
  if (batch % settings_.accumulation != 0)
    throw Error(ErrorKind::refused,
                fmt::format("libtorch: a batch of {} cannot be cut into {} equal parts (accumulation)", batch, settings_.accumulation));
  program_.prepare(batch / settings_.accumulation);
  if (!optimizer_) make_optimizer();
}

void TorchTrainer::make_optimizer() {
  const at::NoGradGuard no_gradients;
  for (const TorchWeight& weight : program_.weights()) {
    if (weight.has_gradient) trained_.push_back(weight.tensor);
    at_load_.push_back(weight.tensor.detach().clone());
  }
  optimizer_.emplace(settings_, trained_);
}

at::Tensor TorchTrainer::loss_of(const at::Tensor& output, const at::Tensor& target) const {
  const at::Tensor scores = output.to(at::kFloat);  // as autocast would
  if (settings_.loss == Loss::mse) return at::mse_loss(scores, target.reshape(scores.sizes()));
  return at::cross_entropy_loss(scores.flatten(1), target);
}

at::Tensor TorchTrainer::part_of_step(int64_t batch, std::span<const at::Tensor> inputs, const Ended& ended, bool last) {
  at::Tensor loss = loss_of(program_.run(batch, inputs.first(inputs.size() - 1), nullptr).front(), inputs.back());
  if (settings_.accumulation > 1) loss = at::mul(loss, 1.0 / static_cast<double>(settings_.accumulation));
  ended(TrainPart::forward);
  if (last && all_reduce_) all_reduce_->begin();
  loss_scale_.scaled(loss).backward();
  ended(TrainPart::backward);
  return loss.detach();
}

void TorchTrainer::average_gradients(GradientAverager& averager, size_t bucket_bytes) {
  all_reduce_.emplace(trained_, averager, bucket_bytes);
}

size_t TorchTrainer::trained_numbers() const {
  size_t numbers = 0;
  for (const at::Tensor& weight : trained_) numbers += static_cast<size_t>(weight.numel());
  return numbers;
}

void TorchTrainer::rehearse_all_reduce() {
  const at::NoGradGuard no_gradients;
  all_reduce_->begin();
  all_reduce_->finish();
  drop_gradients();
}

void TorchTrainer::drop_gradients() {
  for (const at::Tensor& weight : trained_) weight.mutable_grad().reset();
}

at::Tensor TorchTrainer::step(int64_t batch, std::span<const at::Tensor> inputs, const Ended& ended) {
  try {
    return whole_step(batch, inputs, ended);
  } catch (...) {  // what was made so far would be added to the next step's
    drop_gradients();
    throw;
  }
}

at::Tensor TorchTrainer::whole_step(int64_t batch, std::span<const at::Tensor> inputs, const Ended& ended) {
  const at::AutoGradMode gradients(true);
  const OnThisThread one_thread;
  const int64_t parts = settings_.accumulation, part = batch / parts;
  at::Tensor loss;
  for (int64_t i = 0; i < parts; ++i) {
    std::vector<at::Tensor> own(inputs.begin(), inputs.end());
    if (parts > 1)
      for (at::Tensor& input : own) input = input.narrow(0, i * part, part);
    const at::Tensor of_part = part_of_step(part, own, ended, i + 1 == parts);
    loss = loss.defined() ? at::add(loss, of_part) : of_part;
  }
  const at::NoGradGuard no_gradients;
  if (all_reduce_) {
    all_reduce_->finish();
    ended(TrainPart::allreduce);
  }
  update();
  return loss.to(at::kFloat).reshape({1});
}

void TorchTrainer::update() {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& weight : trained_) gradients.push_back(weight.grad());
  optimizer_->update(loss_scale_.unscale(gradients));
  loss_scale_.adapt();
}

void TorchTrainer::reset() {
  const at::NoGradGuard no_gradients;
  const std::vector<TorchWeight>& weights = program_.weights();
  for (size_t i = 0; i < weights.size(); ++i) weights[i].tensor.copy_(at_load_[i]);
  optimizer_->reset();
  loss_scale_.reset();
  at::manual_seed(settings_.seed);
}

std::map<std::string, Tensor> TorchTrainer::copied_weights() const {
  std::map<std::string, Tensor> copies;
  for (const TorchWeight& weight : program_.weights()) {
    const at::Tensor on_host = weight.tensor.detach().to(at::kCPU).contiguous();
    Tensor copy = make_tensor(DataType::f32, {on_host.sizes().begin(), on_host.sizes().end()});
    std::memcpy(writable<float>(copy).data(), on_host.const_data_ptr(), copy.bytes());
    copies.emplace(weight.name, std::move(copy));
  }
  return copies;
}

MemoryKinds TorchTrainer::memory_kinds(int64_t batch, std::span<const at::Tensor> inputs) {
  MemoryKinds kinds{{"optimizer_state", optimizer_->state_bytes()}};
  for (const TorchWeight& weight : program_.weights()) kinds["weights"] += static_cast<int64_t>(weight.tensor.nbytes());
  for (const at::Tensor& weight : trained_) kinds["gradients"] += static_cast<int64_t>(weight.nbytes());
  HeldMemory held(target_.device);
  bool first = true;
  step(batch, inputs, [&](TrainPart part) {
    if (part == TrainPart::forward && std::exchange(first, false)) kinds["activations"] = held.bytes();
  });
  return kinds;
}

Nanoseconds time_all_reduce(TorchTrainer& trainer, Clock& clock, const std::function<void()>& wait) {
  Nanoseconds quickest = never;
  for (int run = 0; run < 4; ++run) {
    wait();
    const Nanoseconds begin = clock.now();
    trainer.rehearse_all_reduce();
    wait();
    if (run > 0) quickest = std::min(quickest, clock.now() - begin);  // in the first one the ranks meet
  }
  return quickest;
}

}  // namespace deepgap
