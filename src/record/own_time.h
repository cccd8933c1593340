// Own time: an interleaved arm's Record on a clock that runs only in the arm's own time slices, so that every metric reads it as one window
// `steady`, like that of a run without others. What lies between slices is cut out of windows, timings and series: a counter does not grow
// there, and other readings are dropped. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <span>
#include <utility>

namespace deepgap {

using Slice = std::pair<Nanoseconds, Nanoseconds>;  // begin and end

// Cuts the time between `slices` out of the Record, which are in order and apart from each other. No slice: it stays as it is.
void cut_to_slices(Record& record, std::span<const Slice> slices);

}  // namespace deepgap
