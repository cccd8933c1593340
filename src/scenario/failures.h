// Failures: the queries of a drive() that failed while the run went on (Target::outlive_failures()), with their reasons. They are no
// Timings: what took no answer has no latency.
#pragma once

#include <deepgap/clock.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace deepgap {

// Used by the scenario's thread.
class Failures {
 public:
  // `beat` is called with each failure: the worker's sign of life.
  explicit Failures(std::function<void()> beat = [] {}) : beat_(std::move(beat)) {}

  void add(Nanoseconds begin, Nanoseconds end, const std::string& why);
  void answered();  // a query that did not fail

  int64_t count() const { return count_; }
  // 0 to 1, of so many that were answered.
  double share(int64_t answered) const;
  // "9 x connection reset; 2 x answered 503", the most frequent first; empty without any.
  std::string text() const;
  // Returns whether nothing but failures came for so long that a loop which waits for answers need not go on.
  bool hopeless() const;
  // When the next query may begin after a failure: a loop that waits for answers would else knock as fast as it is refused.
  Nanoseconds pause_until() const { return pause_until_; }

 private:
  std::function<void()> beat_;
  int64_t count_ = 0;
  Nanoseconds failing_since_ = never, last_ = 0;  // since the last answer
  Nanoseconds pause_until_ = 0;
  std::map<std::string, int64_t> reasons_;
};

}  // namespace deepgap
