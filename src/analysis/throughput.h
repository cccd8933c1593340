// The throughput that other metrics build on (per watt, per FLOP).
#pragma once

#include <deepgap/record.h>

#include <optional>

namespace deepgap {

// Items of successful queries over the length of the steady window. The interval is the worker's, from its Stopping rule, where it left
// one in record.estimates; else from the times between completions.
std::optional<Estimate> steady_throughput(const Record& record);

}  // namespace deepgap
