#include "scenario/arrivals.h"

namespace deepgap {

BurstyArrivals::BurstyArrivals(const BurstSettings& settings, uint64_t seed)
    : settings_(settings), gaps_(seed, "bursty arrivals"), lengths_(seed, "lengths of bursts") {
  const auto on = static_cast<double>(settings.on), off = static_cast<double>(settings.off);
  high_per_ns_ = settings.rate / 1e9 * (on + off) / (on + settings.low_share * off);
  enter(!settings.random_lengths || lengths_.uniform() * (on + off) < on);
}

// A gap is an exponential number of "expected arrivals", used up at the rate of each state it passes through (time rescaling; Daley and
// Vere-Jones, "An Introduction to the Theory of Point Processes", 7.4): exact whatever the states' lengths.
Nanoseconds BurstyArrivals::next() {
  double expected = gaps_.exponential();
  while (true) {
    const double per_ns = high_ ? high_per_ns_ : high_per_ns_ * settings_.low_share;
    const double until_end = (state_end_ns_ - t_ns_) * per_ns;
    if (expected < until_end) {
      t_ns_ += expected / per_ns;
      return arrival_at(t_ns_);
    }
    expected -= until_end;
    t_ns_ = state_end_ns_;
    enter(!high_);
  }
}

void BurstyArrivals::enter(bool high) {
  high_ = high;
  const auto length = static_cast<double>(high ? settings_.on : settings_.off);
  state_end_ns_ = t_ns_ + (settings_.random_lengths ? length * lengths_.exponential() : length);
}

}  // namespace deepgap
