// Learns how early a sleep must end so that it is seldom late: the system wakes a sleeper a while after the time that it asked for, some
// microseconds later on one machine and 100 on another.
#pragma once

#include <deepgap/clock.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace deepgap {

// The third quartile of the last 512 sleeps: one in four ends too late, by tens of microseconds where sleeps do, and the others spin for as
// little. The 95th percentile and an eighth more took a third more of the CPU at 600 queries a second and was late alike (147 and 107 us a
// query, 99th percentiles of 36 to 63 us; three rounds each, a virtual AMD EPYC). One thread.
class Oversleep {
 public:
  static constexpr Nanoseconds shortest = 10'000, longest = 300'000;

  Nanoseconds allowance() const { return allowance_; }

  // A sleep ended so long after the time that was asked for.
  void add(Nanoseconds late) {
    seen_[count_++ % seen_.size()] = late;
    if (count_ % look_every == 0) look();
  }

 private:
  static constexpr size_t look_every = 16;

  void look() {
    const size_t n = std::min(count_, seen_.size()), above = n / 4;
    auto sorted = seen_;
    const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(n - 1 - above);
    std::nth_element(sorted.begin(), place, sorted.begin() + static_cast<std::ptrdiff_t>(n));
    allowance_ = std::clamp(*place, shortest, longest);
  }

  std::array<Nanoseconds, 512> seen_{};
  size_t count_ = 0;
  Nanoseconds allowance_ = longest;  // until some were seen
};

}  // namespace deepgap
