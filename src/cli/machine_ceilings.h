// The ceilings of this machine: kept in the cache, else measured in a child process.
#pragma once

#include "profile/show.h"

#include <deepgap/record.h>

#include <string>

namespace deepgap {

// For `threads` threads on the first of the allowed CPUs. `environment` says which machine this is: another CPU, memory, kernel, microcode
// or number of threads has ceilings of its own. Throws Error{refused} where the child died.
ShownCeilings machine_ceilings(int threads, const Facts& environment, const std::string& cache_dir, bool fresh);

// Of all last-level caches together; 0: not known.
int64_t last_cache_bytes(const Facts& environment);

}  // namespace deepgap
