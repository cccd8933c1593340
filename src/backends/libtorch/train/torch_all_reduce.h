// The gradients of one training become their averages over its ranks. They are cut into buckets, each of which is sent as soon as the
// backward pass has made the last of its gradients, while that goes on with the others, as PyTorch's DistributedDataParallel does it.
// How they are sent is a GradientAverager's: shared memory between CPUs, NCCL between GPUs.
// Used by the thread that trains.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace deepgap {

class GradientAverager {
 public:
  virtual ~GradientAverager() = default;
  // Begins to average these over the ranks, in place, and may return before that is done. All ranks call it with gradients of the same
  // sizes in the same order.
  virtual void average(std::span<const at::Tensor> gradients) = 0;
  // All that began are averages: on a CPU now, on a GPU for what the step's stream runs from now on.
  virtual void finish() = 0;
};

class TorchAllReduce {
 public:
  // `weights`: in the order in which the forward pass takes them, of which the backward pass makes the gradients in reverse. Buckets hold
  // at most about `bucket_bytes`, the first one at most 1 MiB, so that sending begins soon; 0: there is one, sent after the backward pass.
  TorchAllReduce(const std::vector<at::Tensor>& weights, GradientAverager& averager, size_t bucket_bytes);
  ~TorchAllReduce();
  TorchAllReduce(const TorchAllReduce&) = delete;
  TorchAllReduce& operator=(const TorchAllReduce&) = delete;

  void begin();   // the step's last backward pass is about to begin: its gradients are sent as they are made
  void finish();  // after it: all gradients are the averages, of those that it did not make with zeros
  size_t buckets() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::vector<at::Tensor> weights;
    size_t made = 0;  // gradients, of this backward pass
  };
  void watch(size_t bucket, const at::Tensor& weight);
  void send_next();

  GradientAverager& averager_;
  std::vector<Bucket> buckets_;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, uintptr_t>> hooks_;  // node, and what removes its hook
  bool watching_ = false;
  size_t next_ = 0;  // bucket to be sent
};

}  // namespace deepgap
