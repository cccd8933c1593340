// The GPUs that CUDA shows to this process.
#pragma once

#include <deepgap/backend.h>

#include <vector>

namespace deepgap {

// Name, memory, and as properties: multiprocessors, compute capability, clocks, PCI address, link, NUMA node, driver.
// Throws Error{refused} with CUDA's reason where there is none.
std::vector<DeviceInfo> cuda_devices();

}  // namespace deepgap
