// A record of what happened on a device while it was watched: kernels, copies and the calls that ordered them. Plain data.
//
// Times are nanoseconds since the trace began; the device's and the host's are of one clock.
#pragma once

#include <deepgap/clock.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

// One launch on a device.
struct Kernel {
  std::string name;  // as a reader of C++ knows it
  std::string family;
  int layer = -1;                  // in Trace::layers; -1: not known
  Nanoseconds begin = 0, end = 0;  // no kernel of a stream begins before the one ahead of it has ended (tracer.cpp)
  std::array<int, 3> grid{1, 1, 1}, block{1, 1, 1};
  int registers = 0;                          // registers per thread
  int64_t shared_bytes = 0, local_bytes = 0;  // shared: per block, static and dynamic; local: per thread
  int64_t stream = 0;
  uint64_t correlation = 0;  // id of the call that launched it
  uint64_t graph_node = 0;   // 0: launched alone
  Nanoseconds ns() const { return end - begin; }
};

// A copy, or a filling of memory with one value.
struct DeviceCopy {
  std::string what;  // "host to device", "fill", ...
  int layer = -1;
  Nanoseconds begin = 0, end = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
  uint64_t correlation = 0, graph_node = 0;
};

// A call of the driver or the runtime on the host.
struct HostCall {
  std::string name;
  Nanoseconds begin = 0, end = 0;
  uint64_t correlation = 0;
  int64_t thread = 0;
};

struct TracedLayer {
  std::string name, op;
};

struct Trace {
  std::vector<TracedLayer> layers;  // in the order in which they were announced
  std::vector<Kernel> kernels;      // each by its begin
  std::vector<DeviceCopy> copies;
  std::vector<HostCall> calls;
  int64_t dropped = 0;  // records that were lost: more than 0 means that something is missing
};

}  // namespace deepgap
