// Computes how many warps of a kernel a multiprocessor can hold at once, and what limits them. Pure; the limits of chips are those of the
// CUDA C++ Programming Guide's table of compute capabilities.
#pragma once

#include "kernels/trace.h"

#include <optional>
#include <string>

namespace deepgap {

struct Occupancy {
  int blocks = 0;       // blocks per multiprocessor
  double share = 0;     // share of the warps that a multiprocessor could hold
  std::string limiter;  // registers, shared memory, threads, blocks
  double waves = 0;     // blocks of the grid over those that the device holds at once
};

// Returns nullopt if the chip is not known. `architecture`: compute capability times ten.
std::optional<Occupancy> occupancy_of(const Kernel& kernel, int architecture, int multiprocessors);

}  // namespace deepgap
