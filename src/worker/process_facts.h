// Facts that the kernel reports about this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace deepgap {

// The peak of resident memory restarts, so that it is this order's and not an earlier one's. Where the kernel does not allow it the peak
// is the process's: still an upper bound.
void reset_host_memory_peak();
std::optional<int64_t> host_memory_peak_bytes();
double process_cpu_seconds();           // used so far, by all threads
std::string affinity_of_this_thread();  // "0,1,5", or why it is not known

}  // namespace deepgap
