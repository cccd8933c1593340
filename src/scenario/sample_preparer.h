// SamplePreparer: what makes a network's input out of a sample as it is stored, on threads of its own (worker/picture_preparer.h) or, in
// tests, by script. One EndToEndTarget uses it.
#pragma once

#include <deepgap/clock.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace deepgap {

// One sample's way, as times of the run's Clock.
struct PreparedSample {
  uint64_t tag = 0;  // as given to prepare()
  Nanoseconds begin = 0, read = 0, decoded = 0, end = 0;
  std::string failure;  // why there is no input; empty: there is one
};
using Prepared = std::function<void(const PreparedSample&)>;

class SamplePreparer {
 public:
  virtual ~SamplePreparer() = default;              // returns when nothing runs any more; what has not begun is never reported
  virtual void on_prepared(Prepared prepared) = 0;  // before the first prepare(); called on any thread, inside prepare() too
  // Makes the input of Dataset sample `index` at `input`, which the caller leaves alone until it is reported. Never blocks.
  virtual void prepare(uint32_t index, std::span<std::byte> input, uint64_t tag) = 0;
  virtual void withdraw() = 0;  // what has not begun is reported with a failure
};

}  // namespace deepgap
