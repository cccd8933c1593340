#include "engine/plan/memory_plan.h"

#include "base/rounding.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

namespace deepgap {
namespace {

size_t aligned(size_t bytes, size_t alignment) { return round_up(bytes, alignment); }

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

struct Taken {
  size_t begin, end;
};

// The offset of the tightest gap between `taken` (sorted by begin, may overlap each other), or the end of them all.
size_t best_gap(const std::vector<Taken>& taken, size_t bytes) {
  size_t best = SIZE_MAX, best_size = SIZE_MAX, end = 0;
  for (const auto& block : taken) {
    if (block.begin > end && block.begin - end >= bytes && block.begin - end < best_size) {
      best = end;
      best_size = block.begin - end;
    }
    end = std::max(end, block.end);
  }
  return best == SIZE_MAX ? end : best;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, size_t alignment) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  MemoryPlan plan{std::vector<size_t>(lifetimes.size(), 0), 0};
  std::vector<size_t> placed;
  for (size_t index : order) {
    const size_t bytes = aligned(lifetimes[index].bytes, alignment);
    std::vector<Taken> taken;
    for (size_t other : placed)
      if (meet(lifetimes[index], lifetimes[other]))
        taken.push_back({plan.offsets[other], plan.offsets[other] + aligned(lifetimes[other].bytes, alignment)});
    std::sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    plan.offsets[index] = best_gap(taken, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[index] + bytes);
    placed.push_back(index);
  }
  return plan;
}

size_t max_live_bytes(std::span<const Lifetime> lifetimes, size_t alignment) {
  std::map<size_t, int64_t> change;  // step -> bytes that begin (or, one past the last, end) to live there
  for (const auto& lifetime : lifetimes) {
    change[lifetime.first] += static_cast<int64_t>(aligned(lifetime.bytes, alignment));
    change[lifetime.last + 1] -= static_cast<int64_t>(aligned(lifetime.bytes, alignment));
  }
  int64_t live = 0, most = 0;
  for (const auto& [step, bytes] : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return static_cast<size_t>(most);
}

}  // namespace deepgap
