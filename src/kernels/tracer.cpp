#include "kernels/tracer.h"

#include <deepgap/error.h>

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

namespace deepgap {
namespace {

using namespace cupti;

constexpr size_t buffer_bytes = size_t{4} << 20, buffer_alignment = 8;
constexpr std::array<int, 6> kinds{kind_runtime, kind_driver, kind_memcpy, kind_memset, kind_kernel, kind_external};
constexpr uint32_t flush_forced = 1;
constexpr int domain_driver = 1, domain_runtime = 2;

// Holds the full buffers of CUPTI's threads. Its callbacks have no argument of ours, so there is one for the process.
struct Arrived {
  std::mutex mutex;
  std::vector<std::vector<uint8_t>> buffers;
};
Arrived& arrived() {
  static Arrived instance;
  return instance;
}

void give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *bytes = buffer_bytes;
  *most_records = 0;
  *buffer = static_cast<uint8_t*>(::operator new (buffer_bytes, std::align_val_t{buffer_alignment}, std::nothrow));
  if (*buffer == nullptr) *bytes = 0;
}

void take_buffer(void* /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*bytes*/, size_t valid_bytes) {
  {
    const std::lock_guard lock(arrived().mutex);
    arrived().buffers.emplace_back(buffer, buffer + valid_bytes);
  }
  ::operator delete (buffer, std::align_val_t{buffer_alignment});
}

const char* copy_words(int kind) {
  switch (kind) {
    case 1:
      return "host to device";
    case 2:
      return "device to host";
    case 8:
      return "device to device";
    case 9:
      return "host to host";
    case 10:
      return "peer to peer";
    default:
      return "copy";
  }
}

// Turns records into a Trace. Calls that were made within a layer give their correlation to what they ordered.
class Reader {
 public:
  Reader(const Api& api, std::vector<TracedLayer> layers) : api_(api) { trace_.layers = std::move(layers); }

  void read(std::vector<uint8_t>& buffer) {
    void* record = nullptr;
    while (api_.cuptiActivityGetNextRecord(buffer.data(), buffer.size(), &record) == 0) take(record);
  }
  Trace result() {
    for (Kernel& kernel : trace_.kernels) kernel.layer = layer_of(kernel.correlation);
    for (DeviceCopy& copy : trace_.copies) copy.layer = layer_of(copy.correlation);
    rebase();
    return std::move(trace_);
  }

 private:
  void take(const void* record) {
    switch (*static_cast<const int*>(record)) {
      case kind_kernel:
        return take_kernel(*static_cast<const KernelRecord*>(record));
      case kind_memcpy:
        return take_copy(*static_cast<const CopyRecord*>(record));
      case kind_memset:
        return take_fill(*static_cast<const FillRecord*>(record));
      case kind_driver:
      case kind_runtime:
        return take_call(*static_cast<const CallRecord*>(record));
      case kind_external: {
        const auto& external = *static_cast<const ExternalRecord*>(record);
        if (external.external_kind == external_custom) layer_of_call_[external.correlation] = static_cast<int>(external.external);
        return;
      }
      default:
        return;
    }
  }
  void take_kernel(const KernelRecord& r) {
    Kernel kernel;
    kernel.name = demangled(r.name);
    kernel.begin = static_cast<Nanoseconds>(r.start);
    kernel.end = static_cast<Nanoseconds>(r.end);
    kernel.grid = {r.grid_x, r.grid_y, r.grid_z};
    kernel.block = {r.block_x, r.block_y, r.block_z};
    kernel.registers = r.registers;
    kernel.shared_bytes = int64_t{r.static_shared} + r.dynamic_shared;
    kernel.local_bytes = r.local_of_thread;
    kernel.stream = r.stream;
    kernel.correlation = r.correlation;
    kernel.graph_node = r.graph_node;
    trace_.kernels.push_back(std::move(kernel));
  }
  void take_copy(const CopyRecord& r) {
    trace_.copies.push_back({copy_words(r.copy_kind), -1, static_cast<Nanoseconds>(r.start), static_cast<Nanoseconds>(r.end),
                             static_cast<int64_t>(r.bytes), r.stream, r.correlation, r.graph_node});
  }
  void take_fill(const FillRecord& r) {
    trace_.copies.push_back({"fill", -1, static_cast<Nanoseconds>(r.start), static_cast<Nanoseconds>(r.end), static_cast<int64_t>(r.bytes),
                             r.stream, r.correlation, r.graph_node});
  }
  void take_call(const CallRecord& r) {
    const char* name = nullptr;
    const int domain = r.kind == kind_driver ? domain_driver : domain_runtime;
    if (api_.cuptiGetCallbackName(domain, r.function, &name) != 0 || name == nullptr) name = "a call";
    trace_.calls.push_back({name, static_cast<Nanoseconds>(r.start), static_cast<Nanoseconds>(r.end), r.correlation, r.thread});
  }
  int layer_of(uint64_t correlation) const {
    const auto found = layer_of_call_.find(correlation);
    return found == layer_of_call_.end() || found->second >= static_cast<int>(trace_.layers.size()) ? -1 : found->second;
  }
  // A kernel may be on the device before it may work: launched with programmatic overlap, it waits for the one before it in its stream, and
  // the device counts the wait as its time. Here it begins when that one has ended.
  void leave_out_waiting() {
    std::map<int64_t, Nanoseconds> ended;  // by stream
    for (Kernel& kernel : trace_.kernels) {
      Nanoseconds& before = ended[kernel.stream];
      kernel.begin = std::min(kernel.end, std::max(kernel.begin, before));
      before = std::max(before, kernel.end);
    }
  }
  // In order, and since the first of all.
  void rebase() {
    const auto earlier = [](const auto& a, const auto& b) { return a.begin < b.begin; };
    std::stable_sort(trace_.kernels.begin(), trace_.kernels.end(), earlier);
    std::stable_sort(trace_.copies.begin(), trace_.copies.end(), earlier);
    std::stable_sort(trace_.calls.begin(), trace_.calls.end(), earlier);
    leave_out_waiting();
    std::stable_sort(trace_.kernels.begin(), trace_.kernels.end(), earlier);
    Nanoseconds first = INT64_MAX;
    const auto look = [&](const auto& all) {
      if (!all.empty()) first = std::min(first, all.front().begin);
    };
    look(trace_.kernels);
    look(trace_.copies);
    look(trace_.calls);
    const auto shift = [&](auto& all) {
      for (auto& one : all) {
        one.begin -= first;
        one.end -= first;
      }
    };
    shift(trace_.kernels);
    shift(trace_.copies);
    shift(trace_.calls);
  }

  const Api& api_;
  Trace trace_;
  std::map<uint64_t, int> layer_of_call_;
};

}  // namespace

Tracer::Tracer(const Api& api) : api_(api) {
  check(api_, api_.cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "asking for activity records");
}

Tracer::~Tracer() { stop(); }

void Tracer::begin() {
  static_cast<void>(api_.cuptiActivityFlushAll(flush_forced));
  {
    const std::lock_guard lock(arrived().mutex);
    arrived().buffers.clear();
  }
  layers_.clear();
  running_ = true;
  for (const int kind : kinds) check(api_, api_.cuptiActivityEnable(kind), "beginning to watch the device");
}

void Tracer::leave_layer() {
  uint64_t last = 0;
  if (in_layer_) static_cast<void>(api_.cuptiActivityPopExternalCorrelationId(external_custom, &last));
  in_layer_ = false;
}

void Tracer::announce(const std::string& name, const std::string& op) {
  leave_layer();
  check(api_, api_.cuptiActivityPushExternalCorrelationId(external_custom, layers_.size()), "announcing a layer");
  in_layer_ = true;
  layers_.push_back({name, op});
}

void Tracer::stop() {
  leave_layer();
  if (!running_) return;
  running_ = false;
  for (const int kind : kinds) static_cast<void>(api_.cuptiActivityDisable(kind));
}

Trace Tracer::end() {
  leave_layer();
  check(api_, api_.cuptiActivityFlushAll(flush_forced), "fetching what the device did");
  stop();
  Reader reader(api_, layers_);
  size_t dropped = 0;
  static_cast<void>(api_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
  std::vector<std::vector<uint8_t>> buffers;
  {
    const std::lock_guard lock(arrived().mutex);
    buffers.swap(arrived().buffers);
  }
  for (auto& buffer : buffers) reader.read(buffer);
  Trace trace = reader.result();
  trace.dropped = static_cast<int64_t>(dropped);
  return trace;
}

std::string demangled(const char* name) {
  if (name == nullptr) return "a kernel without a name";
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

}  // namespace deepgap
