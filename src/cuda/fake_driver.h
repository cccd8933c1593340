// For tests: a driver whose device is host memory. Copies are made at once, kernels do only what a test has them do, and a test can make
// any function fail. It refuses accesses at which a device would fault: bytes outside of an allocation.
//
//     FakeDriver fake;
//     const DriverStandIn driver(fake.table());
//     fake.fail("cuMemAlloc_v2", FakeDriver::out_of_memory, 3);
//
// One at a time. Any thread, as the driver's own functions; what a test sets, it sets before the code under test runs.
#pragma once

#include "cuda/driver.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace deepgap::cuda {

class FakeDriver {
 public:
  static constexpr Result invalid_value = 1, out_of_memory = 2, no_device = 100, not_ready = 600, illegal_address = 700;

  size_t total_bytes = size_t{8} << 30;
  size_t others_bytes = 0;  // bytes of the total that other processes hold
  int devices = 1;
  int version = 13000;
  std::chrono::milliseconds work{0};  // time on the host that the launch of a CUDA graph takes
  // Work of each kernel, by its name; arguments are those of cuLaunchKernelEx. A kernel without an entry does nothing.
  std::map<std::string, std::function<void(const LaunchConfig&, void** arguments)>> kernels;
  // Called for each kernel as it runs, alone or within a CUDA graph; in a graph its arguments are not known any more (nullptr).
  std::function<void(const std::string& kernel, const LaunchConfig&, void** arguments, bool in_graph)> on_launch;

  // Called for each kernel of a CUDA graph that is given other arguments.
  std::function<void(const std::string& kernel, void** arguments)> on_give;

  FakeDriver() { current() = this; }
  ~FakeDriver() {
    for (const auto& [address, bytes] : allocations_) std::free(reinterpret_cast<void*>(address));
    current() = nullptr;
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const Driver& table() {
#define DEEPGAP_CUDA_FAKE(name, parameters) table_.name = &Scripted<&Driver::name>::call, Scripted<& Driver::name>::symbol = #name;
    DEEPGAP_CUDA_FUNCTIONS(DEEPGAP_CUDA_FAKE)
#undef DEEPGAP_CUDA_FAKE
    return table_;
  }

  // After `after` more calls that succeed every call fails.
  void fail(const std::string& symbol, Result result, int after = 0) { set(symbol, {result, after, false}); }
  // ... and from then on every other function with it, as on a device whose context is lost.
  void lose(const std::string& symbol, Result result = illegal_address, int after = 0) { set(symbol, {result, after, true}); }
  void mend() {
    const std::lock_guard lock(mutex_);
    faults_.clear();
    lost_ = 0;
  }
  int copied_together = 0;  // copies that came in calls for several
  // Advances the time that events see, beside the microsecond of each.
  void pass_us(long us) { ticks_ += us; }

  // Streams come no further until they are released: their events have not passed.
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    released_.notify_all();
  }

  size_t taken_bytes() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  int calls(const std::string& symbol) const {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(symbol);
    return found == calls_.end() ? 0 : found->second;
  }

 private:
  using Captured = std::vector<std::pair<std::string, LaunchConfig>>;  // kernels of a CUDA graph
  static Captured& captured() {
    static thread_local Captured instance;
    return instance;
  }
  struct Fault {
    Result result = 0;
    int after = 0;
    bool is_lasting = false;
  };
  static FakeDriver*& current() {
    static FakeDriver* instance = nullptr;
    return instance;
  }
  void set(const std::string& symbol, Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_[symbol] = fault;
  }
  // 0: the call goes on.
  Result scripted(const std::string& symbol) {
    const std::lock_guard lock(mutex_);
    ++calls_[symbol];
    if (symbol.starts_with("cuGetError")) return 0;
    if (lost_ != 0) return lost_;
    const auto found = faults_.find(symbol);
    if (found == faults_.end() || found->second.after-- > 0) return 0;
    if (found->second.is_lasting) {
      lost_ = found->second.result;
      held_ = false;
      released_.notify_all();
    }
    return found->second.result;
  }
  // Whatever a lost context had is gone with it, whatever the call returns.
  static bool gives_back(std::string_view symbol) {
    return symbol.find("Destroy") != symbol.npos || symbol.find("Free") != symbol.npos || symbol.find("Unload") != symbol.npos;
  }
  template <auto Member>
  struct Scripted;
  template <typename... Parameters, Result (*Driver::*Member)(Parameters...)>
  struct Scripted<Member> {
    static inline const char* symbol = "";
    static Result call(Parameters... given) {
      const Result scripted = current()->scripted(symbol);
      if (scripted != 0 && !gives_back(symbol)) return scripted;
      const Result result = (normal().*Member)(given...);
      return scripted != 0 ? scripted : result;
    }
  };

  bool holds(Address address, size_t bytes) const {
    const std::lock_guard lock(mutex_);
    auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) return false;
    const auto& [begin, size] = *--after;
    return address + bytes <= begin + size;
  }
  static Result move(void* to, const void* from, size_t bytes, Address device, Address other = 0) {
    if (!current()->holds(device, bytes) || (other != 0 && !current()->holds(other, bytes))) return illegal_address;
    std::memmove(to, from, bytes);
    return 0;
  }
  static void* at(Address address) { return reinterpret_cast<void*>(address); }
  template <typename Handle>
  static Result give(Handle* handle, void* object) {
    *handle = reinterpret_cast<Handle>(object);
    return 0;
  }

  Result allocate(Address* address, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (taken_ + others_bytes + bytes > total_bytes) return out_of_memory;
    *address = reinterpret_cast<Address>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    std::memset(at(*address), 0, bytes);
    allocations_[*address] = bytes;
    taken_ += bytes;
    return 0;
  }
  Result release(Address address) {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) return invalid_value;
    taken_ -= found->second;
    allocations_.erase(found);
    std::free(at(address));
    return 0;
  }
  Result wait(bool blocks) {
    std::unique_lock lock(mutex_);
    if (held_ && !blocks) return not_ready;
    released_.wait(lock, [&] { return !held_; });
    return lost_;
  }
  Result launch(const LaunchConfig* config, Function function, void** arguments) {
    const std::string& name = *reinterpret_cast<const std::string*>(function);
    if (capturing_ > 0) return captured().push_back({name, *config}), 0;
    if (on_launch) on_launch(name, *config, arguments, false);
    const auto found = kernels.find(name);
    if (found != kernels.end()) found->second(*config, arguments);
    return 0;
  }
  static int attribute(int which) {
    static const std::map<int, int> values{{13, 1980000}, {16, 132}, {36, 2619000}, {38, 50 << 20}, {75, 9}, {76, 0}, {97, 227 << 10}};
    const auto found = values.find(which);
    return found == values.end() ? 0 : found->second;
  }
  static const char* name_of(Result result) {
    static const std::map<Result, const char*> names{
        {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {100, "CUDA_ERROR_NO_DEVICE"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {999, "CUDA_ERROR_UNKNOWN"}};
    const auto found = names.find(result);
    return found == names.end() ? "CUDA_ERROR_SCRIPTED" : found->second;
  }

  // The table of functions that are used where nothing was scripted.
  static const Driver& normal() {
    static const Driver functions = [] {
      Driver f;
      add_devices(f);
      add_memory(f);
      add_streams(f);
      add_kernels(f);
      return f;
    }();
    return functions;
  }
  static void add_devices(Driver& f) {
    f.cuInit = [](unsigned) { return 0; };
    f.cuDriverGetVersion = [](int* version) { return *version = current()->version, 0; };
    f.cuGetErrorName = [](Result result, const char** name) { return *name = name_of(result), 0; };
    f.cuGetErrorString = [](Result, const char** text) { return *text = "as a test has it", 0; };
    f.cuDeviceGetCount = [](int* count) { return *count = current()->devices, 0; };
    f.cuDeviceGet = [](Device* device, int ordinal) { return *device = ordinal, ordinal < current()->devices ? 0 : 101; };
    f.cuDeviceGetName = [](char* name, int length, Device) { return std::snprintf(name, static_cast<size_t>(length), "Played GPU"), 0; };
    f.cuDeviceTotalMem_v2 = [](size_t* bytes, Device) { return *bytes = current()->total_bytes, 0; };
    f.cuDeviceGetAttribute = [](int* value, int which, Device) { return *value = attribute(which), 0; };
    f.cuDeviceGetPCIBusId = [](char* address, int length, Device device) {
      return std::snprintf(address, static_cast<size_t>(length), "0000:%02X:00.0", device), 0;
    };
    f.cuDeviceCanAccessPeer = [](int* possible, Device, Device) { return *possible = 1, 0; };
    f.cuDevicePrimaryCtxRetain = [](Context* context, Device device) { return give(context, reinterpret_cast<void*>(device + 1L)); };
    f.cuDevicePrimaryCtxRelease_v2 = [](Device) { return 0; };
    f.cuCtxSetCurrent = [](Context context) { return device_of_thread() = static_cast<Device>(reinterpret_cast<long>(context) - 1), 0; };
    f.cuCtxGetDevice = [](Device* device) { return *device = device_of_thread(), 0; };
    f.cuCtxEnablePeerAccess = [](Context, unsigned) { return 0; };
    f.cuCtxSynchronize = [] { return current()->wait(true); };
  }
  static void add_memory(Driver& f) {
    f.cuMemGetInfo_v2 = [](size_t* free, size_t* total) {
      *total = current()->total_bytes;
      return *free = *total - current()->others_bytes - current()->taken_bytes(), 0;
    };
    f.cuMemAlloc_v2 = [](Address* address, size_t bytes) { return current()->allocate(address, bytes); };
    f.cuMemFree_v2 = [](Address address) { return current()->release(address); };
    f.cuMemHostAlloc = [](void** address, size_t bytes, unsigned) { return *address = std::malloc(bytes), 0; };
    f.cuMemFreeHost = [](void* address) { return std::free(address), 0; };
    f.cuMemcpyHtoD_v2 = [](Address to, const void* from, size_t bytes) { return move(at(to), from, bytes, to); };
    f.cuMemcpyDtoH_v2 = [](void* to, Address from, size_t bytes) { return move(to, at(from), bytes, from); };
    f.cuMemcpyHtoDAsync_v2 = [](Address to, const void* from, size_t bytes, StreamHandle) { return move(at(to), from, bytes, to); };
    f.cuMemcpyBatchAsync_v2 = [](Address* to, Address* from, size_t* bytes, size_t count, CopyAttributes*, size_t*, size_t, StreamHandle) {
      current()->copied_together += static_cast<int>(count);
      for (size_t i = 0; i < count; ++i)
        if (const Result result = move(at(to[i]), at(from[i]), bytes[i], to[i]); result != 0) return result;
      return 0;
    };
    f.cuMemcpyDtoHAsync_v2 = [](void* to, Address from, size_t bytes, StreamHandle) { return move(to, at(from), bytes, from); };
    f.cuMemcpyDtoDAsync_v2 = [](Address to, Address from, size_t bytes, StreamHandle) { return move(at(to), at(from), bytes, to, from); };
    f.cuMemcpyPeerAsync = [](Address to, Context, Address from, Context, size_t bytes, StreamHandle) {
      return move(at(to), at(from), bytes, to, from);
    };
    f.cuMemsetD8Async = [](Address to, unsigned char value, size_t bytes, StreamHandle) {
      if (!current()->holds(to, bytes)) return illegal_address;
      return std::memset(at(to), value, bytes), 0;
    };
  }
  static void add_streams(Driver& f) {
    f.cuStreamCreate = [](StreamHandle* stream, unsigned) { return give(stream, new int(0)); };
    f.cuStreamDestroy_v2 = [](StreamHandle stream) { return delete reinterpret_cast<int*>(stream), 0; };
    f.cuStreamSynchronize = [](StreamHandle) { return current()->wait(true); };
    f.cuStreamWaitEvent = [](StreamHandle, EventHandle, unsigned) { return 0; };
    f.cuStreamBeginCapture_v2 = [](StreamHandle, int) { return captured().clear(), ++current()->capturing_, 0; };
    f.cuStreamEndCapture = [](StreamHandle, GraphHandle* graph) {
      return --current()->capturing_, give(graph, new Captured(std::move(captured())));
    };
    f.cuEventCreate = [](EventHandle* event, unsigned) { return give(event, new long(0)); };
    f.cuEventDestroy_v2 = [](EventHandle event) { return delete reinterpret_cast<long*>(event), 0; };
    f.cuEventRecord = [](EventHandle event, StreamHandle) { return *reinterpret_cast<long*>(event) = ++current()->ticks_, 0; };
    f.cuEventQuery = [](EventHandle) { return current()->wait(false); };
    f.cuEventSynchronize = [](EventHandle) { return current()->wait(true); };
    f.cuEventElapsedTime = [](float* ms, EventHandle from, EventHandle to) {
      return *ms = 0.001F * static_cast<float>(*reinterpret_cast<long*>(to) - *reinterpret_cast<long*>(from)), 0;
    };
    f.cuGraphInstantiateWithFlags = [](GraphExec* exec, GraphHandle graph, unsigned long long) {
      return give(exec, new Captured(*reinterpret_cast<Captured*>(graph)));
    };
    f.cuGraphLaunch = [](GraphExec exec, StreamHandle) {
      for (const auto& [name, config] : *reinterpret_cast<Captured*>(exec))
        if (current()->on_launch) current()->on_launch(name, config, nullptr, true);
      return std::this_thread::sleep_for(current()->work), 0;
    };
    f.cuGraphExecDestroy = [](GraphExec exec) { return delete reinterpret_cast<Captured*>(exec), 0; };
    // A node is the number of its kernel, from 1 on.
    f.cuStreamGetCaptureInfo_v2 = [](StreamHandle, int*, uint64_t*, GraphHandle*, const GraphNode** last, size_t* count) {
      static thread_local GraphNode node = nullptr;
      node = reinterpret_cast<GraphNode>(captured().size());
      return *last = &node, *count = captured().empty() ? 0 : 1, 0;
    };
    f.cuGraphExecKernelNodeSetParams_v2 = [](GraphExec exec, GraphNode node, const KernelNode* kernel) {
      const Captured& kernels = *reinterpret_cast<Captured*>(exec);
      const auto number = reinterpret_cast<size_t>(node);
      if (number < 1 || number > kernels.size() || kernels[number - 1].first != *reinterpret_cast<const std::string*>(kernel->function))
        return invalid_value;
      if (current()->on_give) current()->on_give(kernels[number - 1].first, kernel->parameters);
      return 0;
    };
    f.cuGraphDestroy = [](GraphHandle graph) { return delete reinterpret_cast<Captured*>(graph), 0; };
  }
  static void add_kernels(Driver& f) {
    f.cuModuleLoadData = [](ModuleHandle* module, const void*) { return give(module, new std::map<std::string, std::string*>); };
    f.cuModuleUnload = [](ModuleHandle module) {
      auto* functions = reinterpret_cast<std::map<std::string, std::string*>*>(module);
      for (const auto& [name, function] : *functions) delete function;
      return delete functions, 0;
    };
    f.cuModuleGetFunction = [](Function* function, ModuleHandle module, const char* name) {
      std::string*& found = (*reinterpret_cast<std::map<std::string, std::string*>*>(module))[name];
      if (found == nullptr) found = new std::string(name);
      return give(function, found);
    };
    f.cuFuncGetAttribute = [](int* value, int, Function) { return *value = 0, 0; };
    f.cuFuncSetAttribute = [](Function, int, int) { return 0; };
    f.cuLaunchKernelEx = [](const LaunchConfig* config, Function function, void** arguments, void**) {
      return current()->launch(config, function, arguments);
    };
    f.cuTensorMapEncodeTiled = [](TensorMap*, int, unsigned, void*, const uint64_t*, const uint64_t*, const unsigned*, const unsigned*, int,
                                  int, int, int) { return 0; };
    f.cuTensorMapEncodeIm2col = [](TensorMap*, int, unsigned, void*, const uint64_t*, const uint64_t*, const int*, const int*, unsigned,
                                   unsigned, const unsigned*, int, int, int, int) { return 0; };
  }
  static Device& device_of_thread() {
    static thread_local Device device = 0;
    return device;
  }

  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::map<std::string, Fault> faults_;
  std::map<std::string, int> calls_;
  std::map<Address, size_t> allocations_;
  size_t taken_ = 0;
  Result lost_ = 0;
  bool held_ = false;
  std::atomic<int> capturing_ = 0;
  std::atomic<long> ticks_ = 0;
  Driver table_;
};

}  // namespace deepgap::cuda
