// Kernels whose counts are known, counted before anything else in the same passes: counters that read nothing read 0 without an error, so
// what is counted beside them is believed only where these came out right.
#pragma once

#include "kernels/counted_run.h"
#include "kernels/range_profiler.h"

#include <memory>
#include <string>
#include <vector>

namespace deepgap {

class KnownWork {
 public:
  virtual ~KnownWork() = default;
  // Launches one kernel a range: each after `mark`. The caller synchronises.
  virtual void run(const RangeProfiler::Mark& mark) = 0;
  virtual size_t ranges() const = 0;
  virtual std::vector<KnownCount> counts() const = 0;
};

// A copy that reads and writes more than the second-level cache holds, FP32 multiply-adds, where there are tensor cores products of
// FP16 (mma.sync), and reads out of the first-level caches. Compiled for the device by NVRTC. Throws Error{refused} without it,
// Error{out_of_memory}.
std::unique_ptr<KnownWork> known_work(int device);
// Returns its text for a chip, for a test that compiles it for all.
std::string known_work_text(int architecture);

}  // namespace deepgap
