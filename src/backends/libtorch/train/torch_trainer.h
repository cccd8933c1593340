// One step of training as PyTorch's users write it: forward and loss under autocast, backward by autograd, update by a fused optimizer.
// The network is the Graph, node by node, as inference runs it (torch_program.h). On any device.
// One thread at a time.
#pragma once

#include "backends/libtorch/torch_program.h"
#include "backends/libtorch/train/torch_all_reduce.h"
#include "backends/libtorch/train/torch_optimizer.h"

#include <deepgap/clock.h>
#include <deepgap/model.h>
#include <deepgap/tensor.h>
#include <deepgap/train.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

enum class TrainPart : uint8_t { forward, backward, allreduce };

class TorchTrainer {
 public:
  // `target` trains. Throws Error{refused}: nothing to train, an output that has no such loss. The Model outlives it.
  TorchTrainer(const Model& model, const TorchTarget& target, const TrainSettings& settings);
  ~TorchTrainer();

  void prepare(int64_t batch);  // throws Error{refused} naming operator and node, and for a batch that accumulation does not divide
  // Gradients are averaged over ranks from now on: in buckets of about so many bytes while the backward pass goes on, or (0) all of them
  // after it. After prepare(); all ranks alike.
  void average_gradients(GradientAverager& averager, size_t bucket_bytes);
  size_t trained_numbers() const;  // numbers in all gradients
  // Averages gradients of zeros, as a step does after its backward pass: what that costs alone.
  void rehearse_all_reduce();

  // It is called as each part of the step is launched; with accumulation several times, and the update ends it.
  using Ended = std::function<void(TrainPart)>;
  // `inputs` as TorchNetwork::run() takes them, the target behind them. Returns the loss, a float32 of one element, as it was before the
  // update. Where it throws, no gradients are left, and the weights are what they were; statistics may have moved.
  at::Tensor step(int64_t batch, std::span<const at::Tensor> inputs, const Ended& ended);

  // Weights, statistics, the optimizer's state and random numbers as they were after the constructor.
  void reset();
  const std::vector<TorchWeight>& weights() const { return program_.weights(); }
  std::map<std::string, Tensor> copied_weights() const;  // on the host, float32, in the Graph's order of elements
  // Runs a step of this batch and returns the memory that it takes.
  MemoryKinds memory_kinds(int64_t batch, std::span<const at::Tensor> inputs);

 private:
  at::Tensor loss_of(const at::Tensor& output, const at::Tensor& target) const;
  at::Tensor part_of_step(int64_t batch, std::span<const at::Tensor> inputs, const Ended& ended, bool last);
  at::Tensor whole_step(int64_t batch, std::span<const at::Tensor> inputs, const Ended& ended);
  void drop_gradients();
  void make_optimizer();
  void update();

  const Model& model_;
  Graph graph_;  // without what stands behind the scores
  TorchTarget target_;
  TrainSettings settings_;
  TorchProgram program_;
  std::vector<at::Tensor> trained_;  // the weights that are trained
  std::vector<at::Tensor> at_load_;  // copies of weights(), in that order
  std::optional<TorchOptimizer> optimizer_;
  TorchLossScale loss_scale_;
  std::optional<TorchAllReduce> all_reduce_;  // for several ranks
};

// Averaging all gradients takes this time with nothing beside it, as a part of the load (LoadParts): the quickest of three, so that none of
// it is waiting for another rank to begin. `wait` returns when the device has done it. All ranks call it.
inline constexpr const char* allreduce_alone = "allreduce_alone";
Nanoseconds time_all_reduce(TorchTrainer& trainer, Clock& clock, const std::function<void()>& wait);

}  // namespace deepgap
