// Stopping `counts`: a fixed number of queries, as published protocols ask.
#include "scenario/stopping.h"
#include "scenario/stopping/throughput_meter.h"
#include "scenario/stopping/window_verdict.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

class CountsStopping final : public Stopping {
 public:
  explicit CountsStopping(int64_t iterations) : iterations_(iterations) {}
  std::string name() const override { return "counts"; }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) meter_.add(timing);
  }
  State state() const override { return meter_.count() >= iterations_ ? State::enough : State::more; }
  std::string reason() const override { return state() == State::more ? "" : fmt::format("{} iterations", iterations_); }
  Estimate throughput() const override { return meter_.throughput(); }
  WindowVerdict verdict() const override { return window_verdict(meter_, {"throughput", meter_.relative_half_width(), {}, {}}); }

 private:
  int64_t iterations_;
  ThroughputMeter meter_;
};

class CountsRule final : public StoppingRule {
 public:
  std::unique_ptr<Stopping> make(const StoppingSettings& settings) const override {
    if (settings.iterations.value_or(0) < 1) {
      throw Error(ErrorKind::usage, "stopping 'counts' needs a number of iterations of at least 1; give --iterations");
    }
    return std::make_unique<CountsStopping>(*settings.iterations);
  }
};

const bool registered = Registry<StoppingRule>::instance().add("counts", [] { return std::make_unique<CountsRule>(); });

}  // namespace
}  // namespace deepgap
