// Stopping `interval`: until the 95 % interval of the target is inside the asked relative half-width, or the budget ends.
//
// The target is throughput (batch means of what rounds took, throughput_meter.h and stats/correlated.h) or a percentile of latency (ranks,
// with the effective number of observations, stats/percentile.h). Looked at when there are 5 % (percentile: 25 %) more queries than at the
// last look, not before 10 queries and the shortest window (settings.duration, else half a second). A run ends at the second look in a row
// that is narrow enough: stopping at the first prefers moments in which the scatter looks small by chance. interval_test.cpp measures what
// is left of that.
#include "base/text.h"
#include "scenario/stopping.h"
#include "scenario/stopping/throughput_meter.h"
#include "scenario/stopping/window_verdict.h"
#include "stats/percentile.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

namespace deepgap {
namespace {

constexpr int64_t fewest_queries = 10;
constexpr Nanoseconds shortest_window = 500'000'000;  // where the settings name none
constexpr size_t most_latencies = 4'000'000;          // 32 MB; a percentile that is not settled by then is left to the budget

// Half-width over value of whatever is asked for.
class PrecisionTarget {
 public:
  virtual ~PrecisionTarget() = default;
  virtual void add(const Timing& timing) = 0;
  virtual double relative_half_width(const ThroughputMeter& meter) const = 0;
  virtual double growth() const = 0;  // factor of the number of queries between two looks
};

class ThroughputTarget final : public PrecisionTarget {
 public:
  void add(const Timing& /*timing*/) override {}
  double relative_half_width(const ThroughputMeter& meter) const override { return meter.relative_half_width(); }
  double growth() const override { return 1.05; }
};

class PercentileTarget final : public PrecisionTarget {
 public:
  explicit PercentileTarget(double percent) : percent_(percent) {}
  void add(const Timing& timing) override {
    if (latencies_.size() < most_latencies) latencies_.push_back(static_cast<double>(timing.end - timing.scheduled));
  }
  double relative_half_width(const ThroughputMeter& /*meter*/) const override {
    const std::vector<double> series(latencies_.begin(), latencies_.end());
    const auto estimate = estimate_percentile(series, percent_);
    if (!estimate.interval || !(estimate.value > 0)) return std::numeric_limits<double>::infinity();
    return estimate.interval->half_width() / estimate.value;
  }
  double growth() const override { return 1.25; }

 private:
  double percent_;
  std::deque<double> latencies_;  // grows without moving what is there: no pause within a measurement
};

class IntervalStopping final : public Stopping {
 public:
  IntervalStopping(const StoppingSettings& settings, std::unique_ptr<PrecisionTarget> target, int64_t round)
      : asked_(settings.interval),
        shortest_(settings.duration.value_or(shortest_window)),
        budget_(std::max(settings.budget, settings.duration.value_or(0))),
        may_warm_(!settings.warmup),
        of_a_repeat_(settings.asked_of_all > 0 && settings.asked_of_all != settings.interval),
        target_name_(settings.target),
        target_(std::move(target)),
        meter_(round) {}

  std::string name() const override { return "interval"; }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) {
      meter_.add(timing);
      target_->add(timing);
    }
    if (!meter_.whole_rounds()) return;
    const bool over = meter_.length() >= budget_;
    if (state_ == State::more && (over || (meter_.count() >= next_look_ && meter_.length() >= shortest_))) look(over);
  }
  State state() const override { return state_; }
  std::string reason() const override {
    const std::string found = width_text(target_name_, found_, asked_);
    if (state_ == State::enough) return fmt::format("{} ({})", found, asked_text(asked_, of_a_repeat_));
    if (state_ == State::exhausted && meter_.length() < budget_) return fmt::format("{} while it was still warming up", found);
    if (state_ == State::exhausted) {
      return fmt::format("{} after the budget of {} ({})", found, format_duration(budget_), asked_text(asked_, of_a_repeat_));
    }
    return {};
  }
  Estimate throughput() const override { return meter_.throughput(); }
  // Anew, from all that came: whoever wrapped this rule may have gone on after it had enough.
  WindowVerdict verdict() const override {
    const double found = meter_.count() < 2 ? std::numeric_limits<double>::infinity() : target_->relative_half_width(meter_);
    WindowWidth width{target_name_, found, asked_, {}, of_a_repeat_};
    if (state_ == State::exhausted && meter_.length() >= budget_) width.budget = budget_;
    return window_verdict(meter_, width);
  }

 private:
  void look(bool over) {
    next_look_ = static_cast<int64_t>(static_cast<double>(meter_.count()) * target_->growth()) + 1;
    if (meter_.count() < fewest_queries) {
      if (over) give_up();
      return;
    }
    found_ = target_->relative_half_width(meter_);
    const bool narrow = found_ <= asked_;
    if (narrow && (narrow_before_ || over)) {
      state_ = State::enough;
    } else {
      const bool warming = may_warm_ && verdict().warming;
      if (over || (warming && warming_before_)) state_ = State::exhausted;  // the rest of the budget would only thin its beginning out
      warming_before_ = warming;
    }
    narrow_before_ = narrow;
  }
  void give_up() {
    found_ = meter_.count() < 2 ? std::numeric_limits<double>::infinity() : target_->relative_half_width(meter_);
    state_ = State::exhausted;
  }

  double asked_;
  Nanoseconds shortest_, budget_;
  bool may_warm_, of_a_repeat_;
  std::string target_name_;
  std::unique_ptr<PrecisionTarget> target_;
  ThroughputMeter meter_;
  int64_t next_look_ = fewest_queries;
  double found_ = std::numeric_limits<double>::infinity();
  bool narrow_before_ = false, warming_before_ = false;
  State state_ = State::more;
};

class IntervalRule final : public StoppingRule {
 public:
  std::unique_ptr<Stopping> make(const StoppingSettings& settings, int64_t round) const override {
    if (!(settings.interval > 0 && settings.interval < 1)) {
      throw Error(ErrorKind::usage,
                  fmt::format("the interval must lie between 0 and 100 %, not {:g}; give for example --interval 1%", settings.interval));
    }
    if (settings.budget < 1) throw Error(ErrorKind::usage, "the budget must be above 0; give for example --budget 30s");
    return std::make_unique<IntervalStopping>(settings, make_target(settings.target), round);
  }

 private:
  static std::unique_ptr<PrecisionTarget> make_target(const std::string& name) {
    if (name == "throughput") return std::make_unique<ThroughputTarget>();
    if (const auto percent = parse_percentile(name)) return std::make_unique<PercentileTarget>(*percent);
    throw Error(ErrorKind::usage, fmt::format("unknown target '{}' of the interval: it is 'throughput' or a percentile of latency such as "
                                              "'p99'",
                                              name));
  }
};

const bool registered = Registry<StoppingRule>::instance().add("interval", [] { return std::make_unique<IntervalRule>(); });

}  // namespace
}  // namespace deepgap
