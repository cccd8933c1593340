// Tally: what a Session counted of its requests since it was last asked. Any thread.
#pragma once

#include <deepgap/clock.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace deepgap {

// The cost of one request.
struct RequestCost {
  int64_t connections = 0;  // that were opened for it
  int64_t sent = 0, received = 0;
  int64_t header_bytes = -1;    // both directions; -1: not known, and not among them
  Nanoseconds send_delay = -1;  // from enqueue() to its first byte; -1: it was never sent
  bool failed = false;
};

class Tally {
 public:
  void add(const RequestCost& cost);
  // Returns the counts named as in Session::take_counts(); empty before the first request.
  std::map<std::string, double> take();

 private:
  std::mutex mutex_;
  int64_t requests_ = 0, failed_ = 0, connections_ = 0, sent_ = 0, received_ = 0, headers_ = 0;
  bool headers_are_known_ = true;
  std::vector<float> delays_us_;
};

}  // namespace deepgap
