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
  std::vector<ScenarioOption> options() const override { return {}; }
  void parse(const std::map<std::string, std::string>& /*options*/) override {}
  void check_batch(int64_t batch) const override {
    if (batch == 1) return;
    throw Error(ErrorKind::usage, fmt::format("single-stream queries hold one sample, batch is {}; use --scenario batch", batch));
  }
  void drive(std::span<Tenant> tenants, Clock& clock, const std::atomic<bool>& interrupted) override {
    for (const Tenant& tenant : tenants) check_batch(tenant.batch);
    drive_closed_loops(tenants, clock, interrupted, 1);
  }
};

const bool registered = Registry<Scenario>::instance().add("single-stream", [] { return std::make_unique<SingleStreamScenario>(); });

}  // namespace
}  // namespace deepgap
