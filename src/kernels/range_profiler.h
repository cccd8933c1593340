// Counts what a GPU's hardware did during ranges of work, through CUPTI's range profiler. The hardware has few counters, so the work is
// done several times over, one pass each; it must do the same every time.
//
// Never within what is timed: launches are serialised. Not while a Tracer watches. Needs a right that plain users often lack; the error
// says so. One at a time, one thread.
#pragma once

#include "kernels/cupti_api.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

namespace cuda {
class DeviceContext;
}

// The extent of a range: each kernel by itself, or everything between two marks. A CUDA graph's launch is one kernel to `kernels`.
enum class RangeOf { kernels, marks };
// The party that repeats the work: the caller's function as often as passes are needed, or CUPTI kernel by kernel, which saves and restores
// what kernels write.
enum class ReplayBy { caller, cupti };

struct RangeCounts {
  std::string name;                      // as it was marked; empty for kernels
  std::map<std::string, double> values;  // by metric
};

struct Counted {
  std::vector<RangeCounts> ranges;  // in the order of the work
  int passes = 0;                   // number of runs of the caller's function
};

class RangeProfiler {
 public:
  // Opens a range, and closes the one before it.
  using Mark = std::function<void(const std::string& name)>;
  using Work = std::function<void(const Mark& mark)>;

  // Profiles the device's primary context, which engines use. Throws Error{refused}: no such CUPTI, a device that cannot count, no right.
  RangeProfiler(const cupti::Api& api, int device);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  const std::string& chip() const { return chip_; }  // CUPTI's name of it: "GH100"
  // Returns the chip's counters that this user may read, for a CounterHost.
  const std::vector<uint8_t>& available() const { return available_; }

  // `before`: puts back what the work changes; called ahead of each pass and not counted; may be empty. Throws Error{refused} for what
  // CUPTI refuses, ranges that did not fit into `most_ranges`, work that is another each time; and what `work` and `before` throw.
  Counted count(const std::vector<std::string>& metrics, RangeOf of, ReplayBy by, size_t most_ranges, const Work& work,
                const std::function<void()>& before = {});

 private:
  const cupti::Api& api_;
  std::unique_ptr<cuda::DeviceContext> context_;
  std::string chip_;
  std::vector<uint8_t> available_;
};

// Returns what to do if CUPTI does not allow this user to count; empty for any other result.
std::string how_to_be_allowed(cupti::Result result);

}  // namespace deepgap
