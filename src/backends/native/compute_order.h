// The order in which the streams of a Session on a GPU compute. Two batches that fill the GPU end together where they share it; in turns
// the first ends in half of the time and the second no later. So batches that gain nothing from each other take turns, while copies
// overlap.
#pragma once

#include "cuda/objects.h"

#include <deepgap/clock.h>

#include <cstdint>
#include <functional>
#include <set>

namespace deepgap {

// One thread at a time.
class ComputeOrder {
 public:
  // `run` queues the work of one query on its own stream, `wait` returns when that stream has done it: of two slots.
  struct Slot {
    std::function<void()> run, wait;
  };
  // Returns whether two queries end sooner beside each other than in turns, by more than a twentieth.
  static bool gains_beside(const Slot& one, const Slot& other, const Clock& clock);

  void take_turns(int64_t batch) { in_turns_.insert(batch); }
  // Call it before a query's work is queued on `stream`.
  void begin(int64_t batch, const cuda::Stream& stream) const;
  // `computed` is recorded after it, and outlives this.
  void queued(cuda::EventHandle computed) { last_ = computed; }

 private:
  std::set<int64_t> in_turns_;
  cuda::EventHandle last_ = nullptr;
};

}  // namespace deepgap
