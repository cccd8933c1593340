// One step of training as PyTorch's users write it: forward and loss under autocast, backward by autograd, update by a fused optimizer.
// The network is the Graph, node by node, as inference runs it (torch_program.h). On any device.
// One thread at a time.
#pragma once

#include "backends/libtorch/torch_program.h"
#include "backends/libtorch/train/torch_optimizer.h"

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

// Averages gradients over the ranks of one training; nullptr where there is one rank.
class TorchAllReduce {
 public:
  virtual ~TorchAllReduce() = default;
  // The step's last backward pass is about to begin: what it makes is averaged as it is made.
  virtual void begin() = 0;
  virtual void finish() = 0;  // all gradients are the averages
};

class TorchTrainer {
 public:
  // `target` trains. Throws Error{refused}: nothing to train, an output that has no such loss. The Model outlives it.
  TorchTrainer(const Model& model, const TorchTarget& target, const TrainSettings& settings);
  ~TorchTrainer();

  void prepare(int64_t batch);  // throws Error{refused} naming operator and node, and for a batch that accumulation does not divide
  void set_all_reduce(TorchAllReduce* all_reduce) { all_reduce_ = all_reduce; }

  // Told as each part of the step is launched; with accumulation several times, and the update ends it.
  using Ended = std::function<void(TrainPart)>;
  // `inputs` as TorchNetwork::run() takes them, the target behind them. Returns the loss, a float32 of one element, as it was before the
  // update.
  at::Tensor step(int64_t batch, std::span<const at::Tensor> inputs, const Ended& ended);

  // Weights, statistics, the optimizer's state and random numbers as they were after the constructor.
  void reset();
  std::vector<TorchWeight> weights() const { return program_.weights(); }
  std::map<std::string, Tensor> copied_weights() const;  // on the host, float32, in the Graph's order of elements
  // Of a step of this batch, run here.
  MemoryKinds memory_kinds(int64_t batch, std::span<const at::Tensor> inputs);

 private:
  at::Tensor loss_of(const at::Tensor& output, const at::Tensor& target) const;
  at::Tensor part_of_step(int64_t batch, std::span<const at::Tensor> inputs, const Ended& ended, bool last);
  void make_optimizer();
  void update();

  const Model& model_;
  Graph graph_;  // without what stands behind the scores
  TorchTarget target_;
  TrainSettings settings_;
  TorchProgram program_;
  std::vector<at::Tensor> trained_;  // of the weights
  std::vector<at::Tensor> at_load_;  // copies of weights(), in that order
  std::optional<TorchOptimizer> optimizer_;
  TorchLossScale loss_scale_;
  TorchAllReduce* all_reduce_ = nullptr;
};

}  // namespace deepgap
