// One slot of a Session on a GPU: memory, stream, events, and the CUDA graph of each program.
#pragma once

#include "backends/common/port.h"
#include "backends/native/compute_order.h"
#include "cuda/completion_thread.h"
#include "cuda/samples.h"
#include "engine/gpu/instance.h"
#include "engine/gpu/recorded_program.h"

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace deepgap {

// One thread at a time.
class GpuSlot {
 public:
  // `graphs`: programs are recorded. `alone`: the Session has no other slot.
  GpuSlot(gpu::Network& network, const Graph& graph, cuda::SamplePlace place, bool graphs, bool alone);

  // Queues a query. Throws Error{input} where no program takes as many samples.
  void launch(const cuda::Samples& staged, std::span<const uint32_t> samples, ComputeOrder& order);
  void run(const gpu::Program& program);  // queues the program alone, on whatever its inputs hold
  void wait() const { stream_.synchronize(); }
  cuda::QueryEvents& events() { return events_; }
  std::span<const TensorView> outputs() const { return views_; }
  // Returns what a query reads for samples one behind another at `from`, `each` bytes of `input` a sample; nullopt: the samples themselves.
  std::optional<cuda::DeviceMemory> ready(size_t input, cuda::Address from, size_t each, size_t count);
  // Computes the first samples, as many as the largest program takes.
  std::vector<LayerTiming> layer_timings(const cuda::Samples& staged);
  void run_layers(const cuda::Samples& staged, const LayerMark& mark);  // and waits

 private:
  void queue(const cuda::Samples& staged, std::span<const uint32_t> samples, ComputeOrder& order);
  void record_graphs();
  bool place_inputs(const cuda::Samples& staged, const gpu::Program& program);
  void copy_first(const cuda::Samples& staged);
  bool copies_outputs() const;
  void return_outputs(const gpu::Program& program, int64_t samples);

  gpu::Network& network_;
  std::vector<Port> outputs_;
  gpu::Instance instance_;
  cuda::Stream stream_;
  cuda::GatherSpace space_;
  std::vector<cuda::PinnedMemory> returned_;  // by output; empty where the instance has it on the host
  std::vector<Shape> shapes_;
  std::vector<TensorView> views_;
  std::optional<cuda::QueryStamps> stamps_;         // where the slot is alone: its kernels wait for none of another stream
  std::map<int64_t, gpu::RecordedProgram> graphs_;  // by batch; empty: launched one by one
  std::vector<cuda::Samples::Input> inputs_;        // inputs of the query that is queued
  std::vector<uint32_t> chosen_;                    // its samples, as many as the program takes
  cuda::QueryEvents events_;
};

}  // namespace deepgap
