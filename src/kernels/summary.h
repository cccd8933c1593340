// Summarises a trace: time by family, how long the device was busy, what stood between kernels. Pure.
#pragma once

#include "kernels/trace.h"

#include <string>
#include <vector>

namespace deepgap {

struct FamilyTime {
  std::string family;
  int kernels = 0;
  Nanoseconds ns = 0;
};

// A time in which nothing ran on the device, between two things that did.
struct Gap {
  Nanoseconds begin = 0, end = 0;
  std::string before, after;  // kernel or copy
  Nanoseconds ns() const { return end - begin; }
};

struct TraceSummary {
  std::vector<FamilyTime> families;  // longest first
  Nanoseconds span = 0;              // from the first kernel or copy to the end of the last
  Nanoseconds kernel_ns = 0;         // sum; kernels that overlap count each
  Nanoseconds copy_ns = 0;
  Nanoseconds busy = 0;   // time in which anything ran
  std::vector<Gap> gaps;  // longest first
  Nanoseconds gap_ns() const { return span - busy; }
};

TraceSummary summary_of(const Trace& trace);

}  // namespace deepgap
