// The staged samples where a GPU can read them, and how a batch of them comes together in a slot's input there.
//
// With `host` each query copies its samples over the bus, straight out of pinned memory. With `device` they were copied once, at stage(),
// and a query gathers them in the GPU's own memory: the network alone is then what bounds a large batch. With `ready` they lie there in the
// type and layout that the network computes in, so that it converts nothing. With `caller` nothing is placed: each query gathers its
// samples in pinned memory of its slot and copies that.
#pragma once

#include "backends/common/staging.h"
#include "backends/libtorch/torch_settings.h"
#include "backends/libtorch/torch_target.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

// What a query finds in an input of a slot: the Graph's type and layout, or with `ready` the network's.
TorchForm input_form(const Port& input, const TorchTarget& target, SamplePlace place);

// What a query tells the GPU of its samples, and what it copies there; the slot's, since it is read until the query has ended.
struct GatherIndex {
  at::Tensor pinned, device;  // int64, room for the largest batch
  at::Tensor samples;         // pinned bytes, with `caller` alone
  // `bytes`: of the samples.
  GatherIndex(int64_t largest_batch, int64_t bytes, const c10::Device& on);
};

// stage() and launches come from one thread, and no query is in flight during stage() (session.h).
class CudaSamples {
 public:
  CudaSamples(std::string engine, std::vector<Port> inputs, SamplePlace place, const TorchTarget& target);

  // Throws Error{input} for samples that do not fit the inputs.
  void stage(std::span<const std::vector<TensorView>> samples);
  // Queues the copies of input `input` of `samples` to `to` (bytes on the GPU) on the current stream. Throws Error{input} where they do not
  // fill it.
  void launch(size_t input, std::span<const uint32_t> samples, GatherIndex& index, at::Tensor& to, size_t bytes) const;

 private:
  at::Tensor placed(size_t input, const at::Tensor& pinned, Shape shape) const;
  void require(size_t input, std::span<const uint32_t> samples, size_t bytes) const;

  std::string engine_;
  std::vector<Port> inputs_;
  Staging staging_;
  SamplePlace place_;
  TorchTarget target_;
  size_t count_ = 0;                 // samples staged
  std::vector<size_t> each_;         // bytes of a sample as queries read it, per input
  std::vector<at::Tensor> samples_;  // per input: bytes [count, bytes of a sample], pinned or on the GPU
};

}  // namespace deepgap
