#include "scenario/closed_loop.h"

#include "scenario/flight.h"

#include <algorithm>
#include <memory>

namespace deepgap {
namespace {

// One tenant's part of the loop.
class ClosedLoop {
 public:
  ClosedLoop(Tenant& tenant, Clock& clock, int64_t in_flight) : tenant_(tenant), clock_(clock), flight_(tenant, clock, in_flight) {}

  bool has_enough() const { return tenant_.stopping->state() != Stopping::State::more; }
  bool idle() const { return flight_.idle(); }
  void stop_recording() { recording_ = false; }
  void cancel() { flight_.cancel(); }

  void fill() {
    while (flight_.has_room()) {
      const Nanoseconds now = clock_.now();
      flight_.add(now, now, tenant_.batch);
      flight_.send();
    }
  }

  // False when nothing had completed.
  bool collect() {
    for (const Timing& timing : flight_.collect()) {
      // In the middle of a handful of completions the Stopping may have enough: it sees one at a time, so that counts are exact.
      if (!recording_ || has_enough()) break;
      if (timing.status != Status::ok) continue;
      tenant_.sink->add(timing);
      tenant_.stopping->add(std::span(&timing, 1));
    }
    return flight_.took_any();
  }

 private:
  Tenant& tenant_;
  Clock& clock_;
  Flight flight_;
  bool recording_ = true;
};

using Loops = std::vector<std::unique_ptr<ClosedLoop>>;

bool collect_all(const Loops& loops) {
  bool any = false;
  for (const auto& loop : loops) any |= loop->collect();
  return any;
}

void wait_until_idle(const Loops& loops, Clock& clock) {
  const auto busy = [&] { return std::any_of(loops.begin(), loops.end(), [](const auto& loop) { return !loop->idle(); }); };
  while (busy()) {
    if (!collect_all(loops)) clock.wait_until(never);
  }
}

}  // namespace

void drive_closed_loops(std::span<Tenant> tenants, Clock& clock, const std::atomic<bool>& interrupted, int64_t in_flight) {
  Loops loops;
  for (Tenant& tenant : tenants) loops.push_back(std::make_unique<ClosedLoop>(tenant, clock, in_flight));
  const auto enough = [&] { return std::all_of(loops.begin(), loops.end(), [](const auto& loop) { return loop->has_enough(); }); };
  while (!enough() && !interrupted.load(std::memory_order_relaxed)) {
    for (const auto& loop : loops) loop->fill();
    // A wait for ever is right: a completion ends it, and a Target that never completes is for the parent's time-out.
    if (!collect_all(loops)) clock.wait_until(never);
  }
  for (const auto& loop : loops) loop->stop_recording();
  if (interrupted.load(std::memory_order_relaxed)) {
    for (const auto& loop : loops) loop->cancel();
  }
  wait_until_idle(loops, clock);
}

}  // namespace deepgap
