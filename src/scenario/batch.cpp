// Scenario `batch`: closed loop of queries of `batch` samples; the next is issued when one completes.
#include "scenario/closed_loop.h"
#include "scenario/scenario_options.h"

namespace deepgap {
namespace {

class BatchScenario final : public WithOptions<BatchScenario> {
 public:
  std::string name() const override { return "batch"; }
  std::string describe() const override { return "queries of `batch` samples, the next when one completes"; }
  ScenarioTraits traits() const override { return {.unit = "batch", .takes_all = true, .one_by_one = true}; }
  static OptionTable<BatchScenario> table() {
    return OptionTable<BatchScenario>().count("in_flight", "queries submitted and not yet completed", &BatchScenario::in_flight_, 1,
                                              most_in_flight);
  }
  int64_t in_flight() const override { return in_flight_; }
  int64_t round(int64_t /*devices*/) const override { return in_flight_; }
  void drive(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted) override {
    drive_closed_loop(traffic, clock, interrupted, in_flight_);
  }

 private:
  int64_t in_flight_ = 1;
};

const bool registered = add_scenario<BatchScenario>();

}  // namespace
}  // namespace deepgap
