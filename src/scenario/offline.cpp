// Scenario `offline`: all samples are there from the beginning, in queries of `batch` and as many in flight as the Target takes (MLPerf's
// Offline). For throughput; latencies count from the beginning.
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

class AllAtOnce final : public Arrivals {
 public:
  Nanoseconds next() override { return 0; }
};

class OfflineScenario final : public WithOptions<OfflineScenario> {
 public:
  std::string name() const override { return "offline"; }
  std::string describe() const override { return "all samples at once, in queries of `batch`, many in flight"; }
  ScenarioTraits traits() const override { return {.takes_all = true}; }
  static OptionTable<OfflineScenario> table() {
    OptionTable<OpenLoopSettings> loop;
    loop.count("total_samples", "number of samples; by default as many as the measured window takes", &OpenLoopSettings::total_samples, 1);
    OptionTable<OfflineScenario> table;
    table.part(&OfflineScenario::settings_, loop);
    table.count("in_flight", "queries submitted and not yet completed, at least; more if the session has more slots (--streams)",
                &OfflineScenario::slots_, 1, most_in_flight);
    return table;
  }
  int64_t in_flight() const override { return slots_; }
  bool uses_all_slots() const override { return true; }
  // If a number of samples was asked for, each of them counts.
  int64_t round(int64_t devices) const override { return settings_.total_samples ? 1 : devices; }
  Nanoseconds default_duration() const override { return settings_.total_samples ? never : 0; }
  void drive(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted) override {
    drive_open_loop(traffic, clock, interrupted, settings_,
                    [] { return std::make_unique<ArrivalSchedule>(std::make_unique<AllAtOnce>()); });
  }

 private:
  OpenLoopSettings settings_{.finish_due = false};
  int64_t slots_ = 2;
};

const bool registered = add_scenario<OfflineScenario>();

}  // namespace
}  // namespace deepgap
