// Scenario `multi-stream`: several samples a query, one query at a time: what an assistant with so many cameras waits for. The next query
// comes when the last one is complete, as in MLPerf's MultiStream of today, or at fixed times (`period`), as in that of v0.5: a query that
// is not complete by the next one's time makes that one come a period later.
#include "scenario/closed_loop.h"
#include "scenario/open_loop.h"
#include "scenario/scenario.h"

#include <deepgap/error.h>

namespace deepgap {
namespace {

class PeriodicSchedule final : public Schedule {
 public:
  explicit PeriodicSchedule(Nanoseconds period) : period_(period) {}
  Nanoseconds due() const override { return waits_ ? never : next_; }
  void take() override {
    waits_ = true;
    next_ += period_;
  }
  void answered(Nanoseconds end) override {
    waits_ = false;
    if (next_ < end) next_ += (end - next_ + period_ - 1) / period_ * period_;
  }

 private:
  Nanoseconds period_, next_ = 0;
  bool waits_ = false;  // for an answer
};

class MultiStreamScenario final : public WithOptions<MultiStreamScenario> {
 public:
  std::string name() const override { return "multi-stream"; }
  std::string describe() const override { return "`batch` samples a query (at least 2), the next when all of them are complete"; }
  ScenarioTraits traits() const override { return {.load_axis = LoadAxis{"batch", "samples a query"}}; }
  static OptionTable<MultiStreamScenario> table() {
    return OptionTable<MultiStreamScenario>().duration(
        "period", "time between queries; a late query skips one. By default each follows the last answer", &MultiStreamScenario::period_,
        1);
  }
  Nanoseconds default_duration() const override { return period_ > 0 ? 10'000'000'000 : 0; }
  void check_batch(int64_t batch) const override {
    if (batch > 1) return;
    throw Error(ErrorKind::usage, "multi-stream queries hold several samples: give for example --batch 8, or use --scenario single-stream");
  }
  void drive(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted) override {
    check_batch(traffic.batch);
    if (period_ == 0) return drive_closed_loop(traffic, clock, interrupted, 1);
    drive_open_loop(traffic, clock, interrupted, settings_, [this] { return std::make_unique<PeriodicSchedule>(period_); });
  }

 private:
  Nanoseconds period_ = 0;  // 0: none
  OpenLoopSettings settings_{.in_flight = 1, .finish_due = false};
};

const bool registered = add_scenario<MultiStreamScenario>();

}  // namespace
}  // namespace deepgap
