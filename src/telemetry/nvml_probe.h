// The probe `nvml` over a table of functions of the caller's; the registered one uses load_nvml().
#pragma once

#include "telemetry/nvml_api.h"
#include "telemetry/nvml_devices.h"
#include "telemetry/probe.h"

#include <memory>

namespace deepgap {

std::unique_ptr<Probe> make_nvml_probe(NvmlLoader load, CudaEnvironment environment);

}  // namespace deepgap
