// Two times, by the GPU's clock, that kernels of a query's own work write into page-locked memory: when it begins and when it has ended.
// The host reads them sooner than events: it asks the driver nothing.
#pragma once

#include "cuda/objects.h"

#include <deepgap/clock.h>

#include <atomic>
#include <cstdint>

namespace deepgap::cuda {

// Serves one query at a time.
class QueryStamps {
 public:
  QueryStamps() : memory_(2 * sizeof(uint64_t)) { reset(); }
  // Where the kernels write.
  uint64_t* begin() const { return reinterpret_cast<uint64_t*>(memory_.data()); }
  uint64_t* end() const { return begin() + 1; }

  void reset() const { *begin() = *end() = 0; }  // before the work is queued
  // Once it returns true what the query wrote for the host is there.
  bool ended() const { return std::atomic_ref(*end()).load(std::memory_order_acquire) != 0; }
  Nanoseconds between() const { return *end() > *begin() ? static_cast<Nanoseconds>(*end() - *begin()) : 0; }  // once ended

 private:
  PinnedMemory memory_;
};

}  // namespace deepgap::cuda
