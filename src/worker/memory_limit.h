// The memory that a worker may take. A small file can ask for more than there is (an Expand to 60000x60000), and so can an honest batch;
// the worker's Point is then out_of_memory, where without a limit the machine would swap, or the kernel would end other processes too.
#pragma once

#include "telemetry/system_file.h"

#include <deepgap/graph.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Nine tenths of what is available now, of the machine or of the control group's limit, whichever is less. nullopt: not known.
std::optional<uint64_t> memory_for_worker(const SystemRoot& root);

// Limits this process's data to that from now on; what is larger fails as std::bad_alloc. Nothing happens where it is not known, where a
// limit is set that is lower, and under a sanitizer, which maps terabytes for itself. Not for processes that use a GPU: its driver maps the
// device's memory.
void limit_memory();

// Bytes of one sample as its inputs are declared; what is open counts as 1.
double sample_bytes(const std::vector<TensorInfo>& inputs);

// Returns why so many samples, and a batch that is made of them, cannot lie in `available` bytes; empty: they can. It is decided by their
// declared sizes, before anything is allocated or filled.
std::string lack_of_memory(const std::vector<TensorInfo>& inputs, size_t samples, int64_t batch, std::optional<uint64_t> available);

}  // namespace deepgap
