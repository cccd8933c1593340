// Stopping `schedule`: never enough: the scenario ends by itself, as a trace does.
#include "scenario/stopping.h"
#include "scenario/stopping/throughput_meter.h"

namespace deepgap {
namespace {

class ScheduleStopping final : public Stopping {
 public:
  std::string name() const override { return "schedule"; }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) meter_.add(timing);
  }
  State state() const override { return State::more; }
  std::string reason() const override { return {}; }
  Estimate throughput() const override { return meter_.throughput(); }

 private:
  ThroughputMeter meter_;
};

class ScheduleRule final : public StoppingRule {
 public:
  std::unique_ptr<Stopping> make(const StoppingSettings& /*settings*/) const override { return std::make_unique<ScheduleStopping>(); }
};

const bool registered = Registry<StoppingRule>::instance().add("schedule", [] { return std::make_unique<ScheduleRule>(); });

}  // namespace
}  // namespace deepgap
