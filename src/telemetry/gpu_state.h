// The state of one GPU at a moment, for who measures on it and wants to know at which clocks: NVML's readings, without a probe's thread.
#pragma once

#include "telemetry/nvml_api.h"
#include "telemetry/nvml_devices.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace deepgap {

// 0: not known.
struct GpuReading {
  double sm_hz = 0, memory_hz = 0;
  double power_w = 0;  // at this moment if the driver reports that, else a mean over the last second
  double power_limit_w = 0;
  uint64_t throttle_reasons = 0;  // bits as base/throttle.h has them
};

// Returns whether the GPU draws its power limit or its clocks are held back by it.
bool is_at_power_limit(const GpuReading& reading);

// Loads the driver's library, so in a child process only. Any thread.
class GpuStateReader {
 public:
  // `ordinal`: N of cuda:N. Without a driver, or without such a GPU, every reading is 0.
  GpuStateReader(const NvmlLoader& load, const CudaEnvironment& environment, int ordinal);
  GpuReading read() const;

 private:
  NvmlApi api_;
  NvmlDevice device_ = nullptr;
};

using GpuReader = std::function<GpuReading()>;
// Readers of the GPUs of this machine with these ordinals, by the driver's library.
std::vector<GpuReader> gpu_readers(const std::vector<int>& ordinals);

}  // namespace deepgap
