// Shows a device's trace in a profile: families, kernels, gaps.
#pragma once

#include "profile/layer_profile.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

// Returns nothing without a trace, or one line that says why. `top`: kernels that are listed, slowest first; 0: none.
std::string trace_text(const LayerProfile& profile, size_t width, size_t top);
// Describes what a CPU counted during one batch; empty if nobody asked.
std::string cpu_counters_text(const LayerProfile& profile);
// Returns a note for each reason why it could not count something.
std::string missing_counters_text(const LayerProfile& profile);
// Returns {"families", "kernels", "copies", "busy_ms", ...}; null without a trace.
nlohmann::json trace_summary_json(const LayerProfile& profile);

}  // namespace deepgap
