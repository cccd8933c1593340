// The ceilings of a device of this machine: kept in the cache, else measured in a child process.
#pragma once

#include "profile/show.h"

#include <deepgap/point.h>
#include <deepgap/record.h>

#include <string>

namespace deepgap {

// The device: each has its own ceilings, and a CPU others for each number of threads, on the first of the allowed CPUs.
struct CeilingsOf {
  DeviceId device;
  int threads = 1;
};

// `environment` identifies this machine: another CPU, memory, kernel or microcode has ceilings of its own; a GPU has others by driver,
// power limit and clocks. If a device has no measured ceilings they are empty, with why: the CPU's say nothing about it. Throws
// Error{usage} if `fresh` ones are asked for such a device, Error{refused} if the CPU's child died.
ShownCeilings machine_ceilings(const CeilingsOf& whose, const Facts& environment, const std::string& cache_dir, bool fresh);

// Returns the size of all last-level caches together; 0: not known.
int64_t last_cache_bytes(const Facts& environment);

}  // namespace deepgap
