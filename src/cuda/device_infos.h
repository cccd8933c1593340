// The devices that the driver shows to this process, in the form in which a backend reports them.
#pragma once

#include <deepgap/backend.h>

#include <vector>

namespace deepgap::cuda {

// Name, memory, and as properties: multiprocessors, compute capability, clocks, PCI address, link, NUMA node, driver. Throws Error{refused}
// with the driver's reason where there is none.
std::vector<DeviceInfo> device_infos();

}  // namespace deepgap::cuda
