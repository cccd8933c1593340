// CUPTI's host side: what a chip can count, how the hardware is set up for it, what raw counts come to. Needs no GPU.
//
// One thread at a time.
#pragma once

#include "kernels/cupti_api.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

// Set-up of the hardware for some metrics, and the number of passes over the same work that they take.
struct CounterSetup {
  std::vector<std::string> metrics;  // with their way of adding up: "dram__bytes_read.sum"
  std::vector<uint8_t> image;
  size_t passes = 0;
};

class CounterHost {
 public:
  // `chip` by CUPTI's name. `available`: what the device's user may count (CounterAvailability); empty: all that the chip has. Throws
  // Error{refused} where this CUPTI does not know the chip, or none at all.
  CounterHost(const cupti::Api& api, const std::string& chip, const std::vector<uint8_t>& available = {});
  ~CounterHost();
  CounterHost(const CounterHost&) = delete;
  CounterHost& operator=(const CounterHost&) = delete;

  // Once: a host side is set up for one list. Throws Error{refused} for a metric that the chip has not.
  CounterSetup setup(const std::vector<std::string>& metrics);
  // Returns the values of range `range` of the decoded data: bytes, counts, fractions.
  std::map<std::string, double> values(const CounterSetup& setup, const std::vector<uint8_t>& data, size_t range) const;

 private:
  const cupti::Api& api_;
  std::string chip_;
  std::vector<uint8_t> available_;
  void* host_ = nullptr;
};

// Throws Error{refused} for a CUPTI without a range profiler: before CUDA 12.6.
void require_range_profiler(const cupti::Api& api);

}  // namespace deepgap
