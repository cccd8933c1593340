// As how many independent queries those of a Record count, by how they follow each other (stats/percentile.h): a fact of it, so that the
// repeats of a Point can be pooled without their timings. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <vector>

namespace deepgap {

// Sets it, by latencies in their order of time.
void keep_independent_queries(const std::vector<double>& latencies, Record& record);
// At most `queries`. Of a Record without the fact its own p99 tells: where that has no upper end although there are queries enough, they
// are correlated, and count as no more than a p90 takes.
int64_t independent_queries(const Record& record, int64_t queries);

}  // namespace deepgap
