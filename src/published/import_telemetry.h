// Reads what `deepgap export --telemetry` wrote: the readings of probes, back into their Records.
#pragma once

#include "published/csv.h"

#include <deepgap/record.h>

#include <vector>

namespace deepgap {

bool is_telemetry(const CsvTable& table);

// Gives each Record its Series, and the Windows that readings show; both count from its start, and `clock.begin_ns` of 0 says so. Times are
// in milliseconds, as written. Returns how many rows belong to none of these Records. Throws Error{input} "FILE:LINE: cause".
int64_t add_telemetry(const CsvTable& table, std::vector<Record>& records);

}  // namespace deepgap
