// Scenario `batch`: closed loop of queries of `batch` samples; the next is issued when one completes.
#include "scenario/closed_loop.h"
#include "scenario/option_values.h"
#include "scenario/scenario.h"

namespace deepgap {
namespace {

class BatchScenario final : public Scenario {
 public:
  std::string name() const override { return "batch"; }
  std::string describe() const override { return "queries of `batch` samples, the next when one completes"; }
  ScenarioTraits traits() const override { return {.unit = "batch", .takes_all = true, .one_by_one = true}; }
  std::vector<ScenarioOption> options() const override { return {{"in_flight", "queries submitted and not yet completed", "1"}}; }
  void parse(const std::map<std::string, std::string>& options) override { in_flight_ = in_flight_option(options, 1); }
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
