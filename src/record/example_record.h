// Records for tests: full ones with every field set, different for every seed. Only for tests and bench.
#pragma once

#include <deepgap/record.h>

#include <cstdint>

namespace deepgap {

// About as large as a real one: 60 facts of environment (but for the memory left the same for every seed), 20 estimates, `timings` timings.
Record example_record(uint64_t seed, size_t timings = 5);

}  // namespace deepgap
