#include "scenario/closed_loop.h"

#include "scenario/flight.h"

namespace deepgap {
namespace {

class ClosedLoop {
 public:
  ClosedLoop(const Traffic& traffic, Clock& clock, int64_t in_flight)
      : traffic_(traffic), clock_(clock), flight_(traffic, clock, in_flight) {}

  bool has_enough() const {
    return traffic_.stopping->state() != Stopping::State::more || (traffic_.failures != nullptr && traffic_.failures->hopeless());
  }
  bool idle() const { return flight_.idle(); }
  void stop_recording() { recording_ = false; }
  void cancel() { flight_.cancel(); }

  // Returns when there is to be looked again, if nothing completes before.
  Nanoseconds fill() {
    while (flight_.has_room()) {
      const Nanoseconds now = clock_.now();
      if (traffic_.failures != nullptr && now < traffic_.failures->pause_until()) return traffic_.failures->pause_until();
      flight_.add(now, now, traffic_.batch);
      flight_.send();
    }
    return never;
  }

  // False when nothing had completed.
  bool collect() {
    for (const Timing& timing : flight_.collect()) {
      // In the middle of a handful of completions the Stopping may have enough: it sees one at a time, so that counts are exact.
      if (!recording_ || has_enough()) break;
      if (traffic_.failures != nullptr) note_failures(traffic_, flight_, timing);
      if (timing.status != Status::ok) continue;
      traffic_.sink->add(timing);
      traffic_.stopping->add(std::span(&timing, 1));
    }
    return flight_.took_any();
  }

 private:
  const Traffic& traffic_;
  Clock& clock_;
  Flight flight_;
  bool recording_ = true;
};

}  // namespace

void drive_closed_loop(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted, int64_t in_flight) {
  ClosedLoop loop(traffic, clock, in_flight);
  while (!loop.has_enough() && !interrupted.load(std::memory_order_relaxed)) {
    const Nanoseconds look_again = loop.fill();
    // An endless wait is right: a completion ends it, and a Target that never completes is for the parent's time-out.
    if (!loop.collect()) clock.wait_until(look_again);
  }
  loop.stop_recording();
  if (interrupted.load(std::memory_order_relaxed)) loop.cancel();
  while (!loop.idle()) {
    if (!loop.collect()) clock.wait_until(never);
  }
}

}  // namespace deepgap
