// One sentence about latencies that fall into two groups: "latency alternates between 2.00 ms and 3.00 ms". A mean or a median of such
// latencies is a latency that hardly any query has, so the sentence stands beside the verdict. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <span>
#include <string>

namespace deepgap {

// Looks at the first 200,000 `timings` with status ok, in their order; empty where nothing speaks for two groups (stats/modes.h). What
// the readings of a real clock have in common is its resolution; in virtual time they are exact.
std::string latency_modes_text(std::span<const Timing> timings, bool in_virtual_time = false);

}  // namespace deepgap
