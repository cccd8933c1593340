// The native engine on an NVIDIA GPU as a Session: each slot has memory and a stream of its own; one thread delivers what has ended.
#pragma once

#include "backends/native/native_options.h"

#include <deepgap/backend.h>

#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// The driver's devices with the versions of driver and compiler; empty where there is no driver.
std::vector<DeviceInfo> gpu_devices();
// Returns why there is no GPU to be used: no driver, no compiler; empty where there is one.
std::string gpu_absence();
// Names what computes there: "own kernels, NVRTC 13.0", and with `libraries` those that are found: ", cuBLASLt 13.1.0". Throws
// Error{refused} where there is no compiler.
std::string gpu_version(bool libraries);
// Returns why this precision is not computed there; empty when it is.
std::string gpu_precision_refusal(Precision precision, const GraphSummary& graph);

std::unique_ptr<Session> make_gpu_session(const Model& model, const LoadOptions& options, const NativeOptions& native);

}  // namespace deepgap
