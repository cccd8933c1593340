// Made-up results for tests and for looking at the report: engines, batches, threads, repeats, failures, all deterministic.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <vector>

namespace deepgap {

// Three models on two engines over batches, three repeats, one precision more, a refusal, a crash, an unstable point.
std::vector<Record> example_study();
// `count` Records over `points` Points of one model, to see what large Stores do.
std::vector<Record> example_flood(int64_t count, int64_t points);

}  // namespace deepgap
