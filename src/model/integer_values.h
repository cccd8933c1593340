// Infers from the nodes that read it what an integer input may hold: for seeded samples, and for seeded weights that are balanced on them.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <string>

namespace deepgap {

// The whole numbers from `least` on, so many of them.
struct IntegerRange {
  int64_t least = 0;
  int64_t count = 2;
  int64_t number(uint64_t random) const { return least + static_cast<int64_t>(random % static_cast<uint64_t>(count)); }
  bool operator==(const IntegerRange&) const = default;
};

// What each input holds. Where it holds indices (Gather and the like, also through a Cast, a Reshape or arithmetic with constants) of
// whatever type, these lie within the shortest axis that it points into. Other int32 and int64 inputs are masks: 0 and 1. Others are not
// named.
std::map<std::string, IntegerRange> integer_values(const Graph& graph);

}  // namespace deepgap
