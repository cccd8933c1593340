// Memory of the device, as the engine reports it, and of the worker process. Reserved memory and memory in use are separate metrics:
// allocators take memory in steps, and what is reserved says little about what is needed.
#include "analysis/metric.h"

namespace deepgap {
namespace {

std::optional<Estimate> mebibytes(int64_t bytes) {
  if (bytes < 0) return std::nullopt;
  return Estimate{static_cast<double>(bytes) / (1 << 20), {}, {}, 1};
}

const bool registered = register_metrics({
    in_column({100}, {"device_memory_mib", "MiB", Better::lower,
                      "peak memory in use on the device, as the engine reports; memory in use at the end if it reports no peak",
                      [](const Record& r) {
                        return mebibytes(r.device_memory.peak_bytes >= 0 ? r.device_memory.peak_bytes : r.device_memory.in_use_bytes);
                      }}),
    {"device_memory_reserved_mib", "MiB", Better::lower, "memory the engine has taken from the device, used or not",
     [](const Record& r) { return mebibytes(r.device_memory.reserved_bytes); }},
    in_column({90}, {"host_memory_mib", "MiB", Better::lower, "peak resident memory of the worker process",
                     [](const Record& r) { return mebibytes(r.host_memory_peak_bytes.value_or(-1)); }}),
});

}  // namespace
}  // namespace deepgap
