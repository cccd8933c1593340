// The measured copy rates of this machine's GPUs. `deepgap devices --copies` keeps them in the cache, a file for each GPU, and later
// Records state them in their environment. The file is found by the GPU's UUID, because cuda:N may be another GPU in the next process.
#pragma once

#include <deepgap/record.h>

#include <map>
#include <optional>
#include <string>

namespace deepgap {

// Bytes per second. The host's memory is page-locked.
struct GpuCopies {
  double h2d = 0, d2h = 0;                    // while no other GPU copies
  double h2d_together = 0, d2h_together = 0;  // while each of `gpus` GPUs copies
  int64_t gpus = 1;
  std::map<std::string, double> to;  // to each other GPU, by its UUID
};

// Throws Error{input} if the file cannot be written.
void keep_gpu_copies(const std::string& cache_dir, const std::string& uuid, const GpuCopies& copies);
// Returns nothing for a GPU that was not measured, and for a file that is damaged or another user's.
std::optional<GpuCopies> kept_gpu_copies(const std::string& cache_dir, const std::string& uuid);

// Returns facts for each GPU of `uuids` (by N of cuda:N) that was measured: h2d_bytes_per_s, d2h_bytes_per_s; where several were measured
// also h2d_together_bytes_per_s, d2h_together_bytes_per_s, gpus_together, and copy_to_M_bytes_per_s for each other GPU of `uuids`.
std::map<int, Facts> kept_copy_facts(const std::string& cache_dir, const std::map<int, std::string>& uuids);
// Adds the same facts to an environment, as gpu.cudaN.KEY, for its GPUs.
void add_kept_copies(const std::string& cache_dir, Facts& environment);

}  // namespace deepgap
