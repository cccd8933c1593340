// Arrivals: when queries come, as times after the beginning of a window. Made one by one as they are asked for, so that the memory of a
// run does not grow with its length; a queue of queries that could not be issued yet is no more than where its Arrivals have come to.
//
// Random ones draw from a counter-based generator (stats/random_stream.h): the same settings and seed give the same times, on every
// machine and in every window. Plain state, no clock; one thread each.
#pragma once

#include "stats/random_stream.h"

#include <deepgap/clock.h>

#include <cstdint>

namespace deepgap {

class Arrivals {
 public:
  virtual ~Arrivals() = default;
  // Returns a time not before the one that came before it. `never`: there are no more.
  virtual Nanoseconds next() = 0;
};

// Returns the seed for the arrivals before a window, so that they share nothing with the window's own.
inline uint64_t lead_seed(uint64_t seed) { return ~seed; }

// Returns the arrival time; a time beyond the clock's range never comes.
inline Nanoseconds arrival_at(double ns) { return ns < 9e18 ? static_cast<Nanoseconds>(ns) : never; }

// Arrival i at i/rate. `rate` is in queries a second, as everywhere here, and above 0.
class ConstantArrivals final : public Arrivals {
 public:
  explicit ConstantArrivals(double rate) : period_ns_(1e9 / rate) {}
  Nanoseconds next() override { return arrival_at(period_ns_ * static_cast<double>(count_++)); }

 private:
  double period_ns_;
  int64_t count_ = 0;
};

// A Poisson process: independent, exponentially distributed gaps of mean 1/rate, the first before the first arrival.
class PoissonArrivals final : public Arrivals {
 public:
  PoissonArrivals(double rate, uint64_t seed) : period_ns_(1e9 / rate), random_(seed, "poisson arrivals") {}
  Nanoseconds next() override {
    t_ns_ += period_ns_ * random_.exponential();
    return arrival_at(t_ns_);
  }

 private:
  double period_ns_;
  double t_ns_ = 0;
  RandomStream random_;
};

// A Poisson process whose rate changes between two states, high and low. Their lengths are fixed (on/off) or exponentially distributed
// (a Markov-modulated Poisson process; Fischer and Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook", 1993).
struct BurstSettings {
  double rate = 0;  // mean over both states, queries a second
  // Length of the high and of the low state; their means where they are random.
  Nanoseconds on = 100'000'000, off = 400'000'000;
  double low_share = 0;         // rate of the low state over that of the high one; 0: nothing comes
  bool random_lengths = false;  // the Markov-modulated process; it begins in a state drawn by the lengths' shares
};
class BurstyArrivals final : public Arrivals {
 public:
  BurstyArrivals(const BurstSettings& settings, uint64_t seed);
  Nanoseconds next() override;

 private:
  void enter(bool high);

  BurstSettings settings_;
  double high_per_ns_;
  RandomStream gaps_, lengths_;
  bool high_ = true;
  double t_ns_ = 0, state_end_ns_ = 0;
};

}  // namespace deepgap
