// Asks each backend in a child process what it reports about itself, so that this process opens no engine and a plug-in that crashes or
// hangs is a row with its reason. For the commands `backends` and `devices`.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace deepgap {

// A row for each plug-in found, by name: "name", "available": true, "version", "form", "devices": [{"device", "name", "memory_bytes",
// "properties"}], "options": [{"name", "describe", "default", "kind", "values", "process_wide"}]; then one for each backend that is absent
// by design. One that is not available has "name", "available": false and "reason".
nlohmann::json backend_rows();

}  // namespace deepgap
