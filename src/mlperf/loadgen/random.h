// The random numbers of MLPerf's LoadGen, bit for bit: std::mt19937 and what libstdc++ (11 and later, x86-64) makes of its words.
//
// Written out rather than taken from <random>, whose distributions every standard library is free to do in its own way; the words of
// mt19937 are the standard's. One object is one stream, for one thread.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace deepgap {

class LoadgenRandom {
 public:
  // Only the low 32 bits of a seed matter.
  explicit LoadgenRandom(uint64_t seed) : words_(static_cast<uint32_t>(seed)) {}

  uint32_t next() { return static_cast<uint32_t>(words_()); }

  // Uniform in [0, n), n >= 1: Lemire's multiplication ("Fast random integer generation in an interval", 2019) with rejection.
  uint32_t below(uint32_t n) {
    uint64_t product = uint64_t{next()} * n;
    if (static_cast<uint32_t>(product) < n) {
      const uint32_t threshold = (0U - n) % n;
      while (static_cast<uint32_t>(product) < threshold) product = uint64_t{next()} * n;
    }
    return static_cast<uint32_t>(product >> 32);
  }

  // A double in [0, 1) out of two words, the low one first.
  double canonical() {
    const double low = next();
    const double high = next();
    const double value = (low + high * 0x1p32) / 0x1p64;
    return value < 1 ? value : std::nextafter(1.0, 0.0);
  }

  // A gap of a Poisson process, in the unit of 1/rate.
  double exponential(double rate) { return -std::log(1 - canonical()) / rate; }

  void shuffle(std::span<uint32_t> values) {
    shuffle_steps(values.size(), [values](size_t a, size_t b) { std::swap(values[a], values[b]); });
  }
  // Draws what the shuffle of n values draws.
  void skip_shuffle(size_t n) {
    shuffle_steps(n, [](size_t, size_t) {});
  }

 private:
  // Two swaps a draw while one word is wide enough for both positions, that is up to 65535 values.
  template <typename Swap>
  void shuffle_steps(size_t n, Swap swap) {
    if (n < 2) return;
    if (UINT32_MAX / n < n) {
      for (size_t i = 1; i < n; ++i) swap(i, below(static_cast<uint32_t>(i + 1)));
      return;
    }
    size_t i = 1;
    if (n % 2 == 0) swap(i++, below(2));
    for (; i < n; i += 2) {
      const auto range = static_cast<uint32_t>(i + 1);
      const uint32_t both = below(range * (range + 1));
      swap(i, both / (range + 1));
      swap(i + 1, both % (range + 1));
    }
  }

  std::mt19937 words_;
};

}  // namespace deepgap
