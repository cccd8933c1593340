// What `deepgap export --telemetry` wrote: the readings of probes, back into the Records that they are of.
#pragma once

#include "published/csv.h"

#include <deepgap/record.h>

#include <vector>

namespace deepgap {

bool is_telemetry(const CsvTable& table);

// Each Record gets its Series, and Windows as far as readings tell them; both from its start, and `clock.begin_ns` of 0 says so. Times are
// of milliseconds, as they were written. Returns how many rows are of no Record of these. Throws Error{input} "FILE:LINE: cause".
int64_t add_telemetry(const CsvTable& table, std::vector<Record>& records);

}  // namespace deepgap
