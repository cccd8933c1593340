// The parent's side of the reading child (worker/reading.h).
#pragma once

#include "base/subprocess.h"
#include "run/child_process.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace deepgap {

// Enough for honest files, and an end to the others: grows with their sizes. Under a sanitizer, which maps terabytes, memory is not
// limited.
ChildLimits reader_limits(const std::vector<std::string>& files);

// The limit that ended a child so, in words that follow "cannot read FILE: "; empty where none did.
std::string broken_limit(const ExitState& state, const ChildLimits& limits);

// Has the child look at what `request` says (cli/cmd_read.cpp): its "kind" and what that needs. Throws what it threw: Error{usage | input}
// with one line; Error{input} "cannot read SUBJECT: why" where it died of it, or took more than `reader_limits(files)`.
void read_in_child(const nlohmann::json& request, const std::string& subject, const std::vector<std::string>& files);

}  // namespace deepgap
