// The staged samples of a Session where a GPU reads them, and how a query's come together in a slot's inputs.
#pragma once

#include "cuda/objects.h"

#include <deepgap/backend.h>
#include <deepgap/tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap::cuda {

// host: each query copies its samples over the bus, straight out of page-locked memory.
// device: they were copied once, by stage(), and a query gathers them in the GPU's own memory: the network alone is then what bounds a
// large batch. ready and host_ready: as device and host, in the type and layout that the network's first operators read.
// caller: their bytes are rewritten before each query, which brings them together in page-locked memory of its slot and copies that.
enum class SamplePlace : uint8_t { host, device, ready, host_ready, caller };
inline SamplePlace sample_place(const EngineRequest& request) {
  if (request.samples_change) return SamplePlace::caller;
  switch (request.inputs) {
    case InputPlace::device:
      return SamplePlace::device;
    case InputPlace::ready:
      return SamplePlace::ready;
    case InputPlace::host_ready:
      return SamplePlace::host_ready;
    default:
      return SamplePlace::host;
  }
}
inline bool lies_on_device(SamplePlace place) { return place == SamplePlace::device || place == SamplePlace::ready; }
inline bool is_ready(SamplePlace place) { return place == SamplePlace::ready || place == SamplePlace::host_ready; }

// A kernel that brings rows together: row i of `to` is row indices[i] of `from`, or row i if `indices` is 0. Compiled when it is made
// (NVRTC). Any thread with the context current.
class GatherKernel {
 public:
  explicit GatherKernel(int architecture);  // 90; throws Error{refused} where there is no compiler
  // `each`: bytes of a row; indices are int32. Addresses are multiples of 16.
  void launch(Address from, Address indices, Address to, size_t each, size_t count, StreamHandle stream) const;

  static const char* text();

 private:
  struct Width {
    size_t bytes = 0;  // bytes that a thread moves at a time
    Function function = nullptr;
  };
  Module module_;
  std::vector<Width> widths_;  // from the widest
};

// Copies from page-locked memory to the device, queued together: the driver takes many of them in one call where it can (CUDA 13). Calls of
// their own cost the launching thread a microsecond or two each.
class CopyList {
 public:
  void reserve(size_t count);
  void add(Address to, const std::byte* from, size_t bytes);
  void queue(StreamHandle stream);  // and forgets them

 private:
  void queue_together(StreamHandle stream);
  std::vector<Address> to_, from_;
  std::vector<size_t> bytes_;
};

// Holds what the GPU reads about the samples of one query until the query has ended. Each slot has one.
class GatherSpace {
 public:
  // `input_bytes`: bytes of all inputs of the largest batch.
  GatherSpace(SamplePlace place, int64_t largest_batch, size_t input_bytes);

 private:
  friend class Samples;
  PinnedMemory indices_, bytes_;
  DeviceMemory device_indices_;
  CopyList copies_;
};

// stage() comes from one thread, and no query is in flight then. launch() comes from any thread, each with a GatherSpace and a stream of
// its own. The context is current.
class Samples {
 public:
  struct Input {
    Address to = 0;    // address in the slot's buffer; 0: nothing is copied
    size_t bytes = 0;  // bytes that this query's samples fill
  };
  // Used if is_ready(place): turns all samples at `from`, one behind another as they were given, into what queries read. nullopt: queries
  // read the samples as they are.
  using Prepare = std::function<std::optional<DeviceMemory>(size_t input, Address from, size_t count)>;

  // `engine` begins the messages, `inputs` are the names of the model's. Throws Error{refused} where samples lie on the device and nothing
  // compiles the kernel that gathers them.
  Samples(std::string engine, std::vector<std::string> inputs, SamplePlace place, int architecture);

  // REQUIRES samples that fit the inputs (backends/common/staging.h). With `caller` their bytes outlive the queries.
  void stage(std::span<const std::vector<TensorView>> samples, const Prepare& prepare);
  size_t count() const { return count_; }  // samples that are staged
  // Returns the address from which `bytes` of an input begin with these samples as a query reads them; 0 where they do not lie so on the
  // device: all of them there, one behind another, at a multiple of 16.
  Address lying(std::span<const uint32_t> samples, size_t input, size_t bytes) const;
  // Queues the copies of `samples` to a slot's inputs. Throws Error{input} for a sample that was not staged, or where they do not fill an
  // input.
  void launch(std::span<const uint32_t> samples, std::span<const Input> inputs, GatherSpace& space, StreamHandle stream) const;

 private:
  void place(PinnedMemory pinned, size_t input, const Prepare& prepare);
  void require(std::span<const uint32_t> samples, std::span<const Input> inputs) const;
  void copy_runs(std::span<const uint32_t> samples, std::span<const Input> inputs, GatherSpace& space, StreamHandle stream) const;
  void copy_gathered(std::span<const uint32_t> samples, std::span<const Input> inputs, GatherSpace& space, StreamHandle stream) const;
  void gather_on_device(std::span<const uint32_t> samples, std::span<const Input> inputs, GatherSpace& space, StreamHandle stream) const;

  std::string engine_;
  std::vector<std::string> inputs_;
  SamplePlace place_;
  std::optional<GatherKernel> gather_;
  size_t count_ = 0;
  std::vector<size_t> each_;             // bytes of a sample as queries read it, per input
  std::vector<PinnedMemory> pinned_;     // per input, with host and host_ready
  std::vector<DeviceMemory> resident_;   // per input, with device and ready
  std::vector<const std::byte*> given_;  // sample after sample, input after input, with caller
};

}  // namespace deepgap::cuda
