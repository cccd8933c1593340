// One slot of a Session on a GPU: memory, stream, events, and the CUDA graph of each program.
#pragma once

#include "backends/native/gpu_samples.h"

#include <deepgap/session.h>

#include <array>
#include <map>
#include <span>
#include <vector>

namespace deepgap {

// One thread at a time.
class GpuSlot {
 public:
  // `staged_bytes`: of the largest batch's inputs where queries gather on the host; else 0.
  GpuSlot(gpu::Network& network, const Graph& graph, size_t staged_bytes, bool graphs);

  // Queues a query. Throws Error{input} where no program takes as many samples.
  void launch(const GpuSamples& staged, std::span<const uint32_t> samples);
  bool finished() const { return events_[last].passed(); }
  void wait() const { events_[last].synchronize(); }
  void synchronize() const { stream_.synchronize(); }
  std::array<Nanoseconds, 3> durations() const;  // since the query's first mark: copied, computed, returned
  std::span<const TensorView> outputs() const { return views_; }
  gpu::Instance& instance() { return instance_; }
  const cuda::Stream& stream() const { return stream_; }
  size_t bytes() const { return instance_.bytes(); }

  uint64_t tag = 0;
  Nanoseconds enqueued = 0;

 private:
  enum { first, copied, computed, last, event_count };
  void record_graphs();
  void return_outputs(const gpu::Program& program, int64_t samples);

  gpu::Network& network_;
  std::vector<Port> outputs_;
  gpu::Instance instance_;
  cuda::Stream stream_;
  GatherSpace space_;
  std::vector<cuda::PinnedMemory> returned_;
  std::vector<Shape> shapes_;
  std::vector<TensorView> views_;
  std::map<int64_t, cuda::CudaGraph> graphs_;  // by batch; empty: launched one by one
  std::array<cuda::Event, event_count> events_;
};

}  // namespace deepgap
