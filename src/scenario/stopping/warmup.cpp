// The two ends of a warm-up: a fixed number of queries, or a steady state (stats/steady_state.h) within a budget.
#include "base/text.h"
#include "scenario/stopping.h"
#include "scenario/stopping/min_duration.h"
#include "scenario/stopping/throughput_meter.h"
#include "stats/steady_state.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

class FixedWarmup final : public Stopping {
 public:
  FixedWarmup(int64_t queries, int64_t round) : queries_(queries), meter_(round) {}
  std::string name() const override { return "warmup"; }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) meter_.add(timing);
  }
  State state() const override { return meter_.count() >= queries_ ? State::enough : State::more; }
  std::string reason() const override { return state() == State::more ? "" : fmt::format("{} warm-up queries as asked", queries_); }
  Estimate throughput() const override { return meter_.throughput(); }

 private:
  int64_t queries_;
  ThroughputMeter meter_;
};

class SteadyWarmup final : public Stopping {
 public:
  SteadyWarmup(double tolerance, Nanoseconds budget, int64_t round) : tolerance_(tolerance), budget_(budget), meter_(round) {}
  std::string name() const override { return "warmup"; }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) meter_.add(timing);
    const bool over = meter_.length() >= budget_;
    if (state_ != State::more || (!over && meter_.count() < next_look_)) return;
    next_look_ = meter_.count() + std::max<int64_t>(1, meter_.count() / 10);
    if (over || meter_.length() >= shortest) look(over);
  }
  State state() const override { return state_; }
  std::string reason() const override {
    if (state_ == State::enough) return fmt::format("steady from query {} of {}", steady_from_, meter_.count());
    if (state_ == State::exhausted) {
      return fmt::format("no steady state within the warm-up budget of {} ({} queries)", format_duration(budget_), meter_.count());
    }
    return {};
  }
  Estimate throughput() const override { return meter_.throughput(); }

 private:
  void look(bool over) {
    const auto start = deepgap::steady_from(meter_.rounds().batch_ratios(), tolerance_);
    if (start) {
      steady_from_ = static_cast<int64_t>(*start) * meter_.rounds().batch_size() * meter_.round();
      state_ = State::enough;
    } else if (over) {
      state_ = State::exhausted;
    }
  }

  static constexpr Nanoseconds shortest = 200'000'000;
  double tolerance_;
  Nanoseconds budget_;
  ThroughputMeter meter_;
  int64_t next_look_ = 8;
  int64_t steady_from_ = 0;
  State state_ = State::more;
};

}  // namespace

std::unique_ptr<Stopping> make_warmup(const StoppingSettings& settings, int64_t round) {
  if (settings.warmup) {
    if (*settings.warmup < 0) throw Error(ErrorKind::usage, "the number of warm-up queries must not be negative");
    return std::make_unique<FixedWarmup>(*settings.warmup, round);
  }
  if (settings.warmup_budget < 1) throw Error(ErrorKind::usage, "the warm-up budget must be above 0");
  // A trend of half the asked interval spoils nothing; finer than 0.5 % no machine is steady.
  return std::make_unique<SteadyWarmup>(std::max(0.005, settings.interval / 2), settings.warmup_budget, round);
}

std::unique_ptr<Stopping> make_stopping(const StoppingSettings& settings, int64_t round) {
  const auto rule = Registry<StoppingRule>::instance().make("stopping rule", settings.name);
  if (settings.duration && *settings.duration < 1 && settings.name != "duration")
    throw Error(ErrorKind::usage, "the shortest window must be above 0; give for example --min-duration 1s");
  // These know of it themselves.
  if (settings.name == "duration" || settings.name == "interval" || !settings.duration) return rule->make(settings, round);
  return at_least(rule->make(settings, round), *settings.duration);
}

}  // namespace deepgap
