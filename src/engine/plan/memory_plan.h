// Places each buffer of a compiled program in one arena. Pure arithmetic; used by every executor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace deepgap {

// A buffer is needed from step `first` to step `last`, both included.
struct Lifetime {
  size_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // one per lifetime, multiples of the alignment
  size_t bytes = 0;             // size of the arena
};

inline constexpr size_t cache_line = 64;

// Places the largest buffers first, each into the smallest gap that it fits into beside the buffers that live at the same time. Not optimal
// (the problem is NP-hard), within a few percent of the lower bound on networks.
MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, size_t alignment = cache_line);

// Returns the most bytes that live at one step, sizes rounded up to the alignment: no plan is smaller.
size_t max_live_bytes(std::span<const Lifetime> lifetimes, size_t alignment = cache_line);

}  // namespace deepgap
