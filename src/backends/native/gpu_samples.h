// The staged samples where a GPU can read them, and how a batch of them comes together in an instance's input.
//
// With `host` each query copies its samples over the bus, out of page-locked memory. With `device` they were copied once, at stage(), and a
// query gathers them in the GPU's own memory. With `ready` they lie there in the type and layout that the network's first operators read.
// With `caller` their bytes are rewritten before each query, which gathers them in its slot and copies that.
#pragma once

#include "backends/common/staging.h"
#include "cuda/objects.h"
#include "engine/gpu/network.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace deepgap {

enum class GpuSamplePlace { host, device, ready, caller };

// Of one slot: which samples a query gathers, and their bytes with `caller`.
struct GatherSpace {
  GatherSpace(int64_t largest_batch, size_t bytes);
  cuda::PinnedMemory indices, bytes;
  cuda::DeviceMemory device_indices;
};

// stage() and launch() come from one thread, and no query is in flight during stage().
class GpuSamples {
 public:
  // The network and its kernels outlive this.
  GpuSamples(std::vector<Port> inputs, GpuSamplePlace place, gpu::Network& network);

  // Throws Error{input} for samples that do not fit the inputs.
  void stage(std::span<const std::vector<TensorView>> samples, gpu::Instance& instance, const cuda::Stream& stream);
  // Queues the copies of `samples`, at most the program's batch, to the instance's inputs. Throws Error{input}.
  void launch(std::span<const uint32_t> samples, const gpu::Program& program, GatherSpace& space, const gpu::Instance& instance,
              const cuda::Stream& stream) const;
  size_t device_bytes() const;

 private:
  void place(size_t input, std::span<const std::vector<TensorView>> samples);
  void make_ready(size_t input, gpu::Instance& instance, const cuda::Stream& stream);
  void gather_on_device(size_t input, std::span<const uint32_t> samples, GatherSpace& space, cuda::Address to,
                        const cuda::Stream& stream) const;
  void require(std::span<const uint32_t> samples) const;

  std::vector<Port> inputs_;
  Staging staging_;
  GpuSamplePlace place_;
  gpu::Network& network_;
  size_t count_ = 0;
  std::vector<size_t> each_;                  // bytes of a sample as queries read it, per input
  std::vector<cuda::PinnedMemory> pinned_;    // per input, with host
  std::vector<cuda::DeviceMemory> resident_;  // per input, with device and ready
};

}  // namespace deepgap
