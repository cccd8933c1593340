// NVIDIA's devices as the driver's library counts them (libcuda, opened at run time): the numbers are those of cuda:N.
#pragma once

#include <deepgap/backend.h>

#include <vector>

namespace deepgap {

// None where there is no driver or device. Asked once a process.
const std::vector<DeviceInfo>& nvidia_devices();

}  // namespace deepgap
