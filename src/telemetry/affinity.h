// Finds the CPUs that this process was given, and those that are being measured on.
#pragma once

#include <vector>

namespace deepgap {

// Returns the mask the process began with, before anything in it was pinned.
const std::vector<int>& initial_cpus();
// Returns the mask of the process's first thread now: after pinning, the CPUs that are measured on.
std::vector<int> measured_cpus();

}  // namespace deepgap
