// The number of independent queries that a Record's queries count as, by how they follow each other (stats/percentile.h): a fact in it, so
// that the repeats of a Point can be pooled without their timings. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <vector>

namespace deepgap {

// Sets it, by latencies in their order of time.
void keep_independent_queries(const std::vector<double>& latencies, Record& record);
// Returns how many independent queries the Record's queries count as, at most `queries`. Without that fact, the Record's own p99 decides:
// if it has no upper end although there are queries enough, they are correlated, and count as no more than a p90 takes.
int64_t independent_queries(const Record& record, int64_t queries);

}  // namespace deepgap
