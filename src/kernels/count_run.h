// Counts one unit of work on a GPU: the whole as it is timed, and its kernels one by one. Not while it is timed or watched; one at a time.
#pragma once

#include "kernels/counted_run.h"
#include "kernels/known_work.h"
#include "kernels/range_profiler.h"
#include "kernels/trace.h"

#include <functional>

namespace deepgap {

// The work, each function once and the same every time, returning when the device is done.
struct WorkToCount {
  std::function<void()> plain;  // the work as it is timed: a CUDA graph, where the engine makes one
  // Launches kernels one by one and announces each layer by name before its work, if the engine knows it. false: it does not launch so.
  std::function<bool(const RangeProfiler::Mark& mark)> layers;
  std::function<void()> before;   // puts back what the work changes; not counted; may be empty
  const Trace* traced = nullptr;  // trace of `layers`, or of `plain` if that is false: kernels in their order, with their layers and times
};

// Counts in groups (counter_groups()), each with the known work first: a group whose known counts are wrong is left out, with a note.
// `missing` or a note reports what CUPTI refuses. Throws what the work throws.
CountedRun count_run(const cupti::Api& api, int device, KnownWork& known, const WorkToCount& work);

}  // namespace deepgap
