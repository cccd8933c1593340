// Staged samples, and each slot's input and output buffers. Used by the native Session.
//
// Threads: stage() and reserve() while nothing runs; the rest from several threads at once, each with slots of its own.
#pragma once

#include <deepgap/graph.h>
#include <deepgap/tensor.h>

#include <span>
#include <vector>

namespace deepgap {

class BatchIo {
 public:
  // Throws Error{refused} for a batch size that the Graph, whose batch is fixed, does not have. The Graph outlives the BatchIo.
  BatchIo(const Graph& graph, const std::vector<int64_t>& batch_sizes, int slots);

  // References the samples. Throws Error{input} for one that does not fit the Graph's inputs.
  void stage(std::span<const std::vector<TensorView>> inputs);

  // Makes each slot's output buffers large enough for `shapes`; only at load.
  void reserve(const std::vector<Shape>& shapes);

  // Input addresses of a batch: samples that lie one after the other in memory are used where they are, others are copied together in
  // the slot's buffer. Where `samples` are fewer than `batch`, the last one fills it up.
  void gather(int slot, std::span<const uint32_t> samples, int64_t batch);
  std::span<const std::byte* const> inputs(int slot) const { return slots_[static_cast<size_t>(slot)].inputs; }
  std::vector<Tensor> input_tensors(int slot, int64_t batch) const;  // views of the slot's last gather; they own nothing

  std::span<std::byte* const> output_addresses(int slot) const { return slots_[static_cast<size_t>(slot)].outputs; }
  // The outputs' views of a run with `samples` of `batch` in use.
  void set_shapes(int slot, const std::vector<Shape>& shapes, int64_t batch, int64_t samples);
  // Outputs that are not in the slot's buffers: kept until the next ones come.
  void keep_tensors(int slot, std::vector<Tensor> tensors);
  std::span<const TensorView> outputs(int slot) const { return slots_[static_cast<size_t>(slot)].views; }
  size_t reserved_bytes() const;

 private:
  struct Input {
    DataType type = DataType::f32;
    bool batched = true;  // one part per sample; else the one sample's tensor is all of it
    Dims dims;
    size_t sample_bytes = 0;
  };
  struct Slot {
    std::vector<Tensor> input_buffers, output_buffers;
    std::vector<const std::byte*> inputs;  // addresses from the last gather
    std::vector<std::byte*> outputs;
    std::vector<Tensor> kept;
    std::vector<Shape> shapes;
    std::vector<TensorView> views;
  };
  const std::byte* gather_one(Slot& slot, size_t input, std::span<const uint32_t> samples, int64_t batch);

  const Graph& graph_;
  std::vector<Input> input_info_;
  std::vector<Slot> slots_;
  std::vector<std::vector<const std::byte*>> staged_;  // per sample and input
};

}  // namespace deepgap
