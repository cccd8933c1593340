// Several queries in flight for tests and bench/coverage: slots that each take their next query when they have answered one.
#pragma once

#include "scenario/stopping.h"

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace deepgap {

// The Timings of a closed loop in order of completion, of `samples` each, until the Stopping has enough. Returns how many.
inline int64_t feed_slots(Stopping& stopping, size_t slots, uint32_t samples, const std::function<Nanoseconds(size_t slot)>& latency) {
  struct Query {
    Nanoseconds begin, end;
  };
  std::vector<Query> running;
  for (size_t slot = 0; slot < slots; ++slot) running.push_back({0, latency(slot)});
  int64_t given = 0;
  while (given < 1'000'000 && stopping.state() == Stopping::State::more) {
    const auto next = std::min_element(running.begin(), running.end(), [](const Query& a, const Query& b) { return a.end < b.end; });
    const Timing timing{static_cast<uint64_t>(given++), next->begin, next->begin, next->end, samples, Status::ok};
    stopping.add(std::span(&timing, 1));
    *next = {timing.end, timing.end + latency(static_cast<size_t>(next - running.begin()))};
  }
  return given;
}

}  // namespace deepgap
