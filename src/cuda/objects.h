// Owners of what the driver hands out: a device's context, memory, streams, events, modules, CUDA graphs. Each belongs to the context that
// was current in the thread that made it; a thread calls DeviceContext::use() before its first call.
//
// Giving back never throws: on a lost device there is nothing to give back.
#pragma once

#include "cuda/driver.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace deepgap::cuda {

struct DeviceFacts {
  std::string name;
  std::string pci;           // PCI address of its slot, lower case; empty if the driver does not report it
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  size_t memory_bytes = 0, l2_bytes = 0;
  size_t shared_bytes = 0;  // limit of one block
  int clock_khz = 0, memory_clock_khz = 0;
  int version = 0;  // the driver's CUDA: 13000

  int architecture() const { return major * 10 + minor; }  // 90
};
int device_count();
// Throws Error{refused} for a number that no device has.
DeviceFacts device_facts(int device);

// A device's primary context, kept while this lives.
class DeviceContext {
 public:
  explicit DeviceContext(int device);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;
  void use() const;                            // makes it current in this thread
  Context handle() const { return context_; }  // as long as someone keeps it

  // Returns the bytes of DeviceMemory that this process holds on the device, whoever took them; and the most since reset_peak().
  size_t taken_bytes() const;
  size_t peak_bytes() const;
  void reset_peak() const;

 private:
  Device device_ = 0;
  Context context_ = nullptr;
};

// One owner of a handle: H is given back by `Give`.
template <typename H, Result (*Give)(H)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(H handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, H{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != H{}) static_cast<void>(Give(handle_));
  }
  H get() const { return handle_; }

 private:
  H handle_{};
};

struct Allocation {
  Address address = 0;
  size_t bytes = 0;
  Device device = 0;
  bool operator==(const Allocation&) const = default;
};
Result free_memory(Allocation allocation);
inline Result free_host(void* address) { return driver().cuMemFreeHost(address); }
inline Result destroy_stream(StreamHandle stream) { return driver().cuStreamDestroy_v2(stream); }
inline Result destroy_event(EventHandle event) { return driver().cuEventDestroy_v2(event); }
inline Result unload_module(ModuleHandle module) { return driver().cuModuleUnload(module); }
inline Result destroy_graph(GraphExec exec) { return driver().cuGraphExecDestroy(exec); }
inline Result destroy_recorded(GraphHandle graph) { return driver().cuGraphDestroy(graph); }

// Bytes on the device; at least one is taken, so that every buffer has an address.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(size_t bytes);
  Address address() const { return memory_.get().address; }
  size_t bytes() const { return memory_.get().bytes; }

 private:
  Owned<Allocation, free_memory> memory_;
};

// Copies bytes of the host and waits until they are on the device. (cuMemcpyHtoD returns for ordinary memory when they are staged, and
// streams of ours do not wait for the rest.)
void upload(Address to, const void* from, size_t bytes);

// Page-locked bytes of the host, which the device copies from and to by itself.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(size_t bytes);
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  size_t bytes() const { return bytes_; }

 private:
  Owned<void*, free_host> memory_;
  size_t bytes_ = 0;
};

// Runs beside the default stream.
class Stream {
 public:
  Stream();
  StreamHandle get() const { return stream_.get(); }
  void synchronize() const;
  void wait(EventHandle event) const;

 private:
  Owned<StreamHandle, destroy_stream> stream_;
};

class Event {
 public:
  Event();
  EventHandle get() const { return event_.get(); }
  void record(const Stream& stream) const { record(stream.get()); }
  void record(StreamHandle stream) const;
  bool passed() const;
  void synchronize() const;
  long long since_ns(const Event& from) const;  // both passed

 private:
  Owned<EventHandle, destroy_event> event_;
};

// Machine code, and functions found in it by name.
class Module {
 public:
  explicit Module(const std::string& cubin);
  // `shared_bytes`: of dynamic shared memory that launches will ask for.
  Function function(const std::string& name, size_t shared_bytes) const;

 private:
  Owned<ModuleHandle, unload_module> module_;
};

// Everything launched in one call, as a stream recorded it.
class CudaGraph {
 public:
  CudaGraph() = default;
  // Records what `launch` queues on `stream`, of this thread alone.
  template <typename Launch>
  static CudaGraph record(const Stream& stream, Launch launch) {
    begin(stream);
    try {
      launch();
    } catch (...) {
      drop(stream);
      throw;
    }
    return end(stream);
  }
  explicit operator bool() const { return exec_.get() != nullptr; }
  void launch(const Stream& stream) const;
  // Returns what was queued last on a stream that is being recorded.
  static GraphNode last(const Stream& stream);
  // Launches from the next one on give the kernel, which was recorded as `node`, these arguments.
  void give(GraphNode node, const LaunchConfig& config, Function function, void** arguments);

 private:
  static void begin(const Stream& stream);
  static void drop(const Stream& stream);
  static CudaGraph end(const Stream& stream);
  Owned<GraphHandle, destroy_recorded> graph_;  // kept because give() names its nodes
  Owned<GraphExec, destroy_graph> exec_;
};

}  // namespace deepgap::cuda
