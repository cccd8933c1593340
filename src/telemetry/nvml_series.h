// The series that the probe `nvml` reads from a GPU: one row each. docs/reference/environment.md has the same table for readers.
#pragma once

#include "telemetry/nvml_api.h"

#include <span>
#include <string_view>

namespace deepgap {

struct NvmlReading {
  int result = nvml_ok;
  double value = 0;  // in the row's unit
};

struct NvmlRow {
  std::string_view name, unit;
  bool counter = false;
  bool slow = false;  // changes slowly or costs milliseconds to read: once a second, never at a window's edge
  NvmlReading (*read)(const NvmlApi&, NvmlDevice) = nullptr;
};
// Energy first: it is the one whose time matters.
std::span<const NvmlRow> nvml_rows();

// Returns whether the driver reports the power of the moment. Else `power` is a mean over the last second from Ampere on.
bool tells_power_of_the_moment(const NvmlApi& api, NvmlDevice device);

}  // namespace deepgap
