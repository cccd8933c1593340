#include "scenario/stopping/min_duration.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

class MinDuration final : public Stopping {
 public:
  MinDuration(std::unique_ptr<Stopping> rule, Nanoseconds least) : rule_(std::move(rule)), least_(least) {}
  std::string name() const override { return rule_->name(); }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) {
      if (!begun_) begin_ = timing.begin;
      begun_ = true;
      end_ = std::max(end_, timing.end);
    }
    had_enough_early_ = had_enough_early_ || (rule_->state() != State::more && end_ - begin_ < least_);
    rule_->add(timings);
  }
  State state() const override { return begun_ && end_ - begin_ >= least_ ? rule_->state() : State::more; }
  std::string reason() const override {
    if (state() == State::more) return {};
    return had_enough_early_ ? fmt::format("{}, then until {} had passed", rule_->reason(), format_duration(least_)) : rule_->reason();
  }
  Estimate throughput() const override { return rule_->throughput(); }
  WindowVerdict verdict() const override { return rule_->verdict(); }

 private:
  std::unique_ptr<Stopping> rule_;
  Nanoseconds least_;
  bool begun_ = false, had_enough_early_ = false;
  Nanoseconds begin_ = 0, end_ = 0;
};

}  // namespace

std::unique_ptr<Stopping> at_least(std::unique_ptr<Stopping> rule, Nanoseconds least) {
  return std::make_unique<MinDuration>(std::move(rule), least);
}

}  // namespace deepgap
