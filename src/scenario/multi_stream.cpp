// Scenario `multi-stream`: several samples a query, one query at a time (MLPerf's MultiStream): what an assistant with so many cameras
// waits for.
#include "scenario/closed_loop.h"
#include "scenario/scenario.h"

#include <deepgap/error.h>

namespace deepgap {
namespace {

class MultiStreamScenario final : public Scenario {
 public:
  std::string name() const override { return "multi-stream"; }
  std::string describe() const override { return "`batch` samples a query (at least 2), the next when all of them are complete"; }
  std::vector<ScenarioOption> options() const override { return {}; }
  void parse(const std::map<std::string, std::string>& /*options*/) override {}
  void check_batch(int64_t batch) const override {
    if (batch > 1) return;
    throw Error(ErrorKind::usage, "multi-stream queries hold several samples: give for example --batch 8, or use --scenario single-stream");
  }
  void drive(std::span<Tenant> tenants, Clock& clock, const std::atomic<bool>& interrupted) override {
    for (const Tenant& tenant : tenants) check_batch(tenant.batch);
    drive_closed_loops(tenants, clock, interrupted, 1);
  }
};

const bool registered = Registry<Scenario>::instance().add("multi-stream", [] { return std::make_unique<MultiStreamScenario>(); });

}  // namespace
}  // namespace deepgap
