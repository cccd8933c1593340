// Random numbers one after the other out of the counter-based generator Philox4x32-10 (philox.h): word i of a stream is a function of
// (seed, name of the stream, i) alone, so that the same seed gives the same numbers on every machine and in every order of use.
// One thread each.
#pragma once

#include "stats/philox.h"

#include <cmath>
#include <cstdint>
#include <string_view>

namespace deepgap {

class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name) : seed_(seed), stream_(stream_of(name)) {}

  // Returns a number in the open interval (0, 1), on a grid of 2^-53.
  double uniform() {
    const uint64_t high = next() >> 5, low = next() >> 6;
    return (static_cast<double>(high << 26 | low) + 0.5) * 0x1p-53;
  }
  // Draws from the exponential distribution with mean 1.
  double exponential() { return -std::log(uniform()); }

 private:
  uint32_t next() {
    if (position_ == words_.size()) {
      words_ = philox_block(seed_, stream_, block_++);
      position_ = 0;
    }
    return words_[position_++];
  }

  uint64_t seed_, stream_, block_ = 0;
  PhiloxCounter words_{};
  size_t position_ = words_.size();
};

}  // namespace deepgap
