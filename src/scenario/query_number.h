// The number of a query in its id. A loop that keeps many queries in flight puts their slot above the number, so that an answer finds its
// slot at once; whoever joins answers with Timings, which have the number alone, takes it from here.
#pragma once

#include <cstdint>

namespace deepgap {

inline constexpr int query_number_bits = 40;
inline constexpr uint64_t query_number(uint64_t id) { return id & ((uint64_t{1} << query_number_bits) - 1); }

}  // namespace deepgap
