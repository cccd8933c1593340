#include "backends/native/compute_order.h"

#include <algorithm>
#include <limits>

namespace deepgap {
namespace {

constexpr int rounds = 3;
constexpr Nanoseconds enough = 50'000'000;  // that a long query costs a load at most, for each of its two orders
constexpr double worthwhile = 0.95;

Nanoseconds least_time(const ComputeOrder::Slot& first, const ComputeOrder::Slot& second, const Clock& clock) {
  Nanoseconds least = std::numeric_limits<Nanoseconds>::max(), spent = 0;
  for (int round = 0; round < rounds && spent < enough; ++round) {
    const Nanoseconds begin = clock.now();
    first.run();
    second.run();
    first.wait();
    second.wait();
    const Nanoseconds took = clock.now() - begin;
    least = std::min(least, took);
    spent += took;
  }
  return least;
}

}  // namespace

bool ComputeOrder::gains_beside(const Slot& one, const Slot& other, const Clock& clock) {
  const Nanoseconds in_turns = least_time(one, one, clock), beside = least_time(one, other, clock);
  return static_cast<double>(beside) < worthwhile * static_cast<double>(in_turns);
}

void ComputeOrder::begin(int64_t batch, const cuda::Stream& stream) const {
  if (last_ != nullptr && in_turns_.contains(batch)) stream.wait(last_);
}

}  // namespace deepgap
