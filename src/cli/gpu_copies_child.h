// Copy rates of the machine's GPUs: measured in a child process and kept in the cache, for `devices`.
#pragma once

#include "telemetry/gpus.h"

#include <string>

namespace deepgap {

// Measures the GPUs of `inventory` and keeps their rates. Throws Error{refused} where there is no GPU, and what measure_copy_rates()
// throws.
void measure_gpu_copies(const GpuInventory& inventory, const std::string& cache_dir);
// Adds the rates that are kept to the facts of each GPU, as telemetry/gpu_copies.h names them.
void add_kept_copies(const std::string& cache_dir, GpuInventory& inventory);

}  // namespace deepgap
