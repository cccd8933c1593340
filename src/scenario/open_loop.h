// The open loop behind `server`, `constant`, `bursty`, `trace`, `offline` and `concurrency`: queries come when a Schedule says, whatever
// the Target does with those before.
//
// A query that is due while the Target has no room waits in the Schedule itself: there is no queue to grow, and memory is the same at any
// overload. Its latency counts from when it was due. Whatever was due when the offering ended is issued, finished and counted too, since
// leaving out the ones that wait would make a stalled Target look fast. That may take a tenth of the window longer. A run whose oldest
// query has waited for more than a twentieth of the window by then is overloaded where the waits grow: their differences from query to
// query have a mean above 0 with 99 % confidence, correlation allowed for (stats/correlated.h). It ends at once, and OfferedLoad says how
// many were waiting. Where they do not, a queue that is long by chance is finished, for as long as the window at most. Whoever is not
// through in that time is overloaded too.
//
// Before the window queries may come for a while that are not recorded (Traffic::lead): a queue needs time to become as long as it is on
// average, and percentiles of a window that begins without one are too small. Where the oldest query has waited for half of that time by
// then, the load is twice what can be served, and the window begins without the queue: all that is due is put off by as long as that one
// waited.
#pragma once

#include "scenario/arrivals.h"
#include "scenario/scenario.h"
#include "scenario/scenario_options.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

namespace deepgap {

// Says when queries are due, one after the other.
class Schedule {
 public:
  virtual ~Schedule() = default;
  // The next query's time after the beginning. `never`: none before another answer comes; the end when nothing is in flight.
  virtual Nanoseconds due() const = 0;
  virtual void take() = 0;                       // that one was issued
  virtual void answered(Nanoseconds /*end*/) {}  // a query was finished, so long after the beginning
};
using MakeSchedule = std::function<std::unique_ptr<Schedule>()>;

// The times of an arrival process.
class ArrivalSchedule final : public Schedule {
 public:
  explicit ArrivalSchedule(std::unique_ptr<Arrivals> arrivals) : arrivals_(std::move(arrivals)), due_(arrivals_->next()) {}
  Nanoseconds due() const override { return due_; }
  void take() override { due_ = arrivals_->next(); }

 private:
  std::unique_ptr<Arrivals> arrivals_;
  Nanoseconds due_;
};

// Takes arrivals from another process for so long, then from this one: a window gets the same arrivals with and without a lead.
class LeadSchedule final : public Schedule {
 public:
  LeadSchedule(std::unique_ptr<Arrivals> before, Nanoseconds length, std::unique_ptr<Arrivals> arrivals)
      : before_(std::move(before)), length_(length), arrivals_(std::move(arrivals)) {
    take();
  }
  Nanoseconds due() const override { return due_; }
  void take() override {
    if (before_ != nullptr) due_ = before_->next();
    if (before_ != nullptr && due_ < length_) return;
    before_.reset();
    const Nanoseconds next = arrivals_->next();
    due_ = next < never - length_ ? next + length_ : never;
  }

 private:
  std::unique_ptr<Arrivals> before_;  // nullptr: over
  Nanoseconds length_;
  std::unique_ptr<Arrivals> arrivals_;
  Nanoseconds due_ = 0;
};

struct OpenLoopSettings {
  int64_t in_flight = 0;                 // at most; 0: what the Target takes
  bool finish_due = true;                // as said above; else the drive ends with its Stopping and leaves out what is not finished then
  std::optional<int64_t> total_samples;  // samples in all queries; the last query may be smaller
};

// The whole drive(). Throws what Flight throws.
void drive_open_loop(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted, const OpenLoopSettings& settings,
                     const MakeSchedule& make_schedule);

// A Scenario that is an arrival process: a file of its own names it and says how its options make Arrivals.
class ArrivalScenario : public Scenario {
 public:
  int64_t in_flight() const final { return std::max<int64_t>(in_flight_, 1); }
  bool uses_all_slots() const final { return in_flight_ == 0; }
  Nanoseconds default_duration() const override { return 10'000'000'000; }
  Nanoseconds lead(Nanoseconds window) const final;
  void drive(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted) final;

 protected:
  virtual std::unique_ptr<Arrivals> make_arrivals() const = 0;
  // Returns, for a process that is as good at any time as at its beginning, others of the same kind for what comes before the window.
  virtual std::unique_ptr<Arrivals> make_lead_arrivals() const { return nullptr; }

  int64_t in_flight_ = 0;  // 0: as many as the Session has slots
};

// One whose options are the rows of S::table(), with in_flight behind them.
template <typename S>
class ArrivalScenarioOf : public WithOptions<S, ArrivalScenario> {
 protected:
  static void add_in_flight(OptionTable<S>& table) {
    table.count("in_flight", in_flight_by_slots, &ArrivalScenarioOf::in_flight_, 1, most_in_flight);
  }
};

}  // namespace deepgap
