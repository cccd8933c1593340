// Stopping `duration`: until the window is as long as asked. The query that passes the end is the last and counts.
#include "base/text.h"
#include "scenario/stopping.h"
#include "scenario/stopping/throughput_meter.h"
#include "scenario/stopping/window_verdict.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

class DurationStopping final : public Stopping {
 public:
  explicit DurationStopping(Nanoseconds duration) : duration_(duration) {}
  std::string name() const override { return "duration"; }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) meter_.add(timing);
  }
  State state() const override { return meter_.count() > 0 && meter_.length() >= duration_ ? State::enough : State::more; }
  std::string reason() const override {
    return state() == State::more ? "" : fmt::format("{} passed with {} queries", format_duration(duration_), meter_.count());
  }
  Estimate throughput() const override { return meter_.throughput(); }
  WindowVerdict verdict() const override { return window_verdict(meter_, {"throughput", meter_.relative_half_width(), {}, {}}); }

 private:
  Nanoseconds duration_;
  ThroughputMeter meter_;
};

class DurationRule final : public StoppingRule {
 public:
  std::unique_ptr<Stopping> make(const StoppingSettings& settings) const override {
    if (settings.duration.value_or(0) < 1) {
      throw Error(ErrorKind::usage, "stopping 'duration' needs a length of time above 0; give --duration, such as --duration 8s");
    }
    return std::make_unique<DurationStopping>(*settings.duration);
  }
};

const bool registered = Registry<StoppingRule>::instance().add("duration", [] { return std::make_unique<DurationRule>(); });

}  // namespace
}  // namespace deepgap
