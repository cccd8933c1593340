// A trace as JSON, between processes and for programs.
#pragma once

#include "kernels/trace.h"

#include <nlohmann/json_fwd.hpp>

namespace deepgap {

// Describes a kernel's launch, without its times and its place in the trace.
nlohmann::json launch_json(const Kernel& kernel);
nlohmann::json trace_to_json(const Trace& trace);
Trace trace_from_json(const nlohmann::json& json);  // throws Error{input}

// Returns the format that Perfetto and chrome://tracing read: layers, kernels by stream, copies and host calls as tracks of one time axis.
nlohmann::json trace_events(const Trace& trace, const std::string& title);

}  // namespace deepgap
