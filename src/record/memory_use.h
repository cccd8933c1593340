// The memory of several Sessions.
#pragma once

#include <deepgap/session.h>

namespace deepgap {

// Field by field; what is not known of one is not known of the sum.
inline MemoryUse sum_of(const MemoryUse& a, const MemoryUse& b) {
  const auto sum = [](int64_t x, int64_t y) { return x < 0 || y < 0 ? -1 : x + y; };
  return {sum(a.reserved_bytes, b.reserved_bytes), sum(a.in_use_bytes, b.in_use_bytes), sum(a.peak_bytes, b.peak_bytes)};
}

}  // namespace deepgap
