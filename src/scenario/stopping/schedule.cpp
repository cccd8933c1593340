// Stopping `schedule`: never enough: the scenario ends by itself, as a trace does, or `offline` after its samples. What was to be
// measured is given, as under `counts`: no interval is asked, and the window is judged like theirs where its load does not judge it.
#include "scenario/stopping.h"
#include "scenario/stopping/throughput_meter.h"
#include "scenario/stopping/window_verdict.h"

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
  WindowVerdict verdict() const override { return window_verdict(meter_, {"throughput", meter_.relative_half_width(), {}, {}}); }

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
