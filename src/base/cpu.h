// The CPUs of this process, and what a CPU shows of itself that libraries get wrong.
#pragma once

#include <optional>

namespace deepgap {

// Returns how many CPUs the calling thread may use; nullopt where the system has too many to count.
std::optional<int> count_allowed_cpus();

// Some virtual machines show AMX and hide how large its tiles are (CPUID leaf 0x1D): kernels then configure no tile and end by SIGILL.
bool amx_tiles_are_hidden();

}  // namespace deepgap
