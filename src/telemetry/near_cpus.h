// Finds the CPUs that feed a GPU: those of the socket (NUMA node) whose PCIe root it hangs on. Copies from another socket's memory cross
// the link between sockets; affinity=near and affinity=far measure what that costs.
#pragma once

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

enum class Side { near, far };

// Those of `allowed` that are on that side of all `devices`. `environment` is the Record's, with the probes' facts: the GPUs' PCI
// addresses. `root` stands for "/". Throws Error{usage} for a device that is not a GPU, and Error{refused} where the topology is not known,
// where GPUs of one process hang on different sockets, and where no allowed CPU is on that side.
std::vector<int> cpus_beside(Side side, const std::vector<DeviceId>& devices, const Facts& environment, const std::vector<int>& allowed,
                             const std::string& root = "/");

}  // namespace deepgap
