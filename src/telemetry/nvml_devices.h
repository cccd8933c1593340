// Finds the NVML device behind "cuda:N". NVML counts every GPU of the machine by PCI address; CUDA counts those that CUDA_VISIBLE_DEVICES
// leaves, in its order.
#pragma once

#include "telemetry/nvml_api.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct VisibleGpu {
  int ordinal = 0;  // N of cuda:N
  NvmlDevice device = nullptr;
};
struct VisibleGpus {
  std::vector<VisibleGpu> gpus;
  std::string reason;  // why there is none
  std::string note;    // why the order may be another one
};

// The variables that the CUDA runtime reads; nullopt: the variable is not set.
struct CudaEnvironment {
  std::optional<std::string> visible_devices, device_order;
};
CudaEnvironment cuda_environment();  // this process's

// Follows the CUDA documentation on environment variables: numbers or UUIDs (a unique beginning is enough), up to the first one that
// names no device. Devices that the driver denies (another container's) are not counted by CUDA either.
VisibleGpus visible_gpus(const NvmlApi& api, const CudaEnvironment& environment);

}  // namespace deepgap
