// A run's place: the memory of one Network for one run at a time. Used by the native Session, a slot each.
//
// Threads: one at a time; several Instances at once, the context current.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/bound_launch.h"
#include "engine/gpu/network.h"

#include <deepgap/session.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace deepgap::gpu {

// Memory for one run at a time, with every program bound to it.
class Instance {
 public:
  explicit Instance(Network& network);

  cuda::Address input(size_t index) const { return inputs_.at(index).address(); }
  // A small output that no step reads lies in the host's memory, and the kernel that makes it writes it there: a copy after the last kernel
  // would take as long as several small layers (9 us on an H200). Others are in the device's memory.
  cuda::Address output(size_t index) const { return outputs_.at(index).address(); }
  size_t output_bytes(size_t index) const { return outputs_.at(index).bytes; }
  std::byte* output_on_host(size_t index) const { return outputs_.at(index).host.data(); }  // nullptr: it is in the device's
  // Makes what the program reads as its input of the Graph's own bytes at `from`, which is room for the program's batch.
  void prepare(const Program& program, size_t input, cuda::Address from, const cuda::Stream& stream);
  // Queues the whole program.
  void run(const Program& program, const cuda::Stream& stream) const;
  // The same, and calls `queued` after each launch that was queued, with its step.
  using Queued = std::function<void(const Step& step, const Launch& launch, const BoundLaunch& bound)>;
  void run(const Program& program, const cuda::Stream& stream, const Queued& queued) const;
  BoundLaunch bound(const Launch& launch, const AddressOf& address) const { return {launch, network_.kernels().function(launch), address}; }
  size_t inputs() const { return inputs_.size(); }
  // `inputs`: addresses by input; empty: the instance's own.
  cuda::Address address_of(const Program& program, BufferId buffer, std::span<const cuda::Address> inputs = {}) const;
  // Runs step after step, and waits: nanoseconds by step of the program.
  std::vector<LayerTiming> timed(const Program& program, const cuda::Stream& stream) const;
  // Queues the whole program, each step announced.
  void run_marked(const Program& program, const cuda::Stream& stream, const LayerMark& mark) const;

 private:
  struct Output {
    Output(size_t size, bool on_host);
    cuda::Address address() const { return host.data() == nullptr ? device.address() : reinterpret_cast<cuda::Address>(host.data()); }
    size_t bytes;
    cuda::DeviceMemory device;
    cuda::PinnedMemory host;
  };
  struct Bound {
    std::vector<std::vector<BoundLaunch>> steps;
  };
  void bind(const Program& program);

  Network& network_;
  cuda::DeviceMemory arena_;
  std::vector<cuda::DeviceMemory> inputs_;
  std::vector<Output> outputs_;
  std::map<int64_t, Bound> bound_;  // by batch
};

}  // namespace deepgap::gpu
