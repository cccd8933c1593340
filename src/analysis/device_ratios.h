// The ratio of one device to another, everything else being alike: DEEP-GAP's question, by precision and batch. Pure functions; the
// pointers lead into the Points that were arranged.
#pragma once

#include "analysis/comparison.h"
#include "analysis/lines.h"

#include <string>
#include <vector>

namespace deepgap {

struct DeviceRatio {
  std::string precision;
  int64_t batch = 0;  // batch of both; 0: each at its best, since those differ or no batch is common
  const PointSummary *first = nullptr, *second = nullptr;
  Comparison throughput;  // first over second
};

// One device against the slowest of those that ran the same.
struct DevicePair {
  std::string label;                // what both have in common, without device and precision: "libtorch_cuda · cuda_graph=on"
  std::string device, other;        // Identity::device; `other` is the slower
  std::vector<DeviceRatio> ratios;  // by precision, then batch; each at its best comes last
};

// Lines are alike that differ in the device alone, or in its index, in threads (they are the host's) and in precision besides.
std::vector<DevicePair> device_pairs(const Workload& workload);

}  // namespace deepgap
