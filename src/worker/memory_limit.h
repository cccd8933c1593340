// The memory that a worker may take. A small file can ask for more than there is (an Expand to 60000x60000), and so can an honest batch;
// the worker's Point is then out_of_memory, where without a limit the machine would swap, or the kernel would end other processes too.
#pragma once

#include "telemetry/system_file.h"

#include <cstdint>
#include <optional>

namespace deepgap {

// Nine tenths of what is available now, of the machine or of the control group's limit, whichever is less. nullopt: not known.
std::optional<uint64_t> memory_for_worker(const SystemRoot& root);

// Limits this process's data to that from now on; what is larger fails as std::bad_alloc. Nothing happens where it is not known, where a
// limit is set that is lower, and under a sanitizer, which maps terabytes for itself. Not for processes that use a GPU: its driver maps the
// device's memory.
void limit_memory();

}  // namespace deepgap
