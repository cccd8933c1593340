// The ceilings of a device of this machine: kept in the cache, else measured in a child process.
#pragma once

#include "profile/show.h"

#include <deepgap/point.h>
#include <deepgap/record.h>

#include <string>

namespace deepgap {

// Whose ceilings: each device has its own, and a CPU others for each number of threads, on the first of the allowed CPUs.
struct CeilingsOf {
  DeviceId device;
  int threads = 1;
};

// `environment` says which machine this is: another CPU, memory, kernel or microcode has ceilings of its own; a GPU has others by driver,
// power limit and clocks. Of a device that none are measured of, they are empty, with why: the CPU's say nothing about it. Throws
// Error{usage} where `fresh` ones of such a device are asked for, Error{refused} where the CPU's child died.
ShownCeilings machine_ceilings(const CeilingsOf& whose, const Facts& environment, const std::string& cache_dir, bool fresh);

// Returns the size of all last-level caches together; 0: not known.
int64_t last_cache_bytes(const Facts& environment);

}  // namespace deepgap
