// Scenario `single-stream`: one sample a query, one query at a time. For latency as one user of an idle machine sees it.
#include "scenario/closed_loop.h"
#include "scenario/scenario.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

class SingleStreamScenario final : public Scenario {
 public:
  std::string name() const override { return "single-stream"; }
  std::string describe() const override { return "one sample a query, the next when it completes"; }
  ScenarioTraits traits() const override { return {.takes_all = true, .one_by_one = true}; }
  std::vector<OptionInfo> options() const override { return {}; }
  void parse(const std::map<std::string, std::string>& /*options*/) override {}
  void check_batch(int64_t batch) const override {
    if (batch == 1) return;
    throw Error(ErrorKind::usage, fmt::format("single-stream queries hold one sample, batch is {}; use --scenario batch", batch));
  }
  void drive(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted) override {
    check_batch(traffic.batch);
    drive_closed_loop(traffic, clock, interrupted, 1);
  }
};

const bool registered = add_scenario<SingleStreamScenario>();

}  // namespace
}  // namespace deepgap
