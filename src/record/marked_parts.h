// The parts of a query between the marks that an engine sets, as a Record keeps them: their means as estimates, those of single queries as
// Series.
#pragma once

#include <array>

namespace deepgap {

// The Series of the marks of single queries belong to this probe.
constexpr const char* marks_probe = "marks";
// "copy_in_ms", "compute_ms", "copy_out_ms", and of steps "forward_ms", "backward_ms", "allreduce_ms", "update_ms".
constexpr std::array<const char*, 7> marked_parts{"copy_in_ms",  "compute_ms",   "copy_out_ms", "forward_ms",
                                                  "backward_ms", "allreduce_ms", "update_ms"};

}  // namespace deepgap
