// The native engine on an NVIDIA GPU as a Session: each slot has memory and a stream of its own; one thread delivers what has ended.
#pragma once

#include <deepgap/backend.h>

#include <map>
#include <memory>
#include <string>

namespace deepgap {

// Options that a GPU has, beside those of the CPU.
std::vector<OptionInfo> gpu_option_infos();
// The driver's devices with the versions of driver and compiler; empty where there is no driver.
std::vector<DeviceInfo> gpu_devices();
// Why there is no GPU to be used: no driver, no compiler; empty where there is one.
std::string gpu_absence();
// Why this precision is not computed there; empty when it is.
std::string gpu_precision_refusal(const std::string& precision, const GraphSummary& graph);

// Throws Error{usage} for a value that they do not have, on whatever device the Point is.
void check_gpu_options(const LoadOptions& options);

std::unique_ptr<Session> make_gpu_session(const Model& model, const LoadOptions& options);

}  // namespace deepgap
