#include "scenario/stopping/settled.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

class UntilSettled final : public Stopping {
 public:
  UntilSettled(std::unique_ptr<Stopping> rule, std::function<bool(Nanoseconds)> settled, std::string what, Nanoseconds longest)
      : rule_(std::move(rule)), settled_(std::move(settled)), what_(std::move(what)), longest_(longest) {}
  std::string name() const override { return rule_->name(); }
  void add(std::span<const Timing> timings) override {
    if (timings.empty()) return;
    if (!begun_) begin_ = timings.front().begin;
    begun_ = true;
    for (const Timing& timing : timings) end_ = std::max(end_, timing.end);
    rule_->add(timings);
    has_settled_ = settled_(end_);
    waited_ = waited_ || (rule_->state() != State::more && !has_settled_);
  }
  State state() const override { return has_settled_ || is_over() ? rule_->state() : State::more; }
  std::string reason() const override {
    if (state() == State::more || !waited_) return rule_->reason();
    const std::string length = format_duration(end_ - begin_);
    return has_settled_ ? fmt::format("{}, then until {} were steady, after {}", rule_->reason(), what_, length)
                        : fmt::format("{}, but {} were not steady after {}", rule_->reason(), what_, length);
  }
  Estimate throughput() const override { return rule_->throughput(); }
  WindowVerdict verdict() const override { return rule_->verdict(); }

 private:
  bool is_over() const { return begun_ && end_ - begin_ >= longest_; }

  std::unique_ptr<Stopping> rule_;
  std::function<bool(Nanoseconds)> settled_;
  std::string what_;
  Nanoseconds longest_;
  bool begun_ = false, has_settled_ = false, waited_ = false;
  Nanoseconds begin_ = 0, end_ = 0;
};

}  // namespace

std::unique_ptr<Stopping> until_settled(std::unique_ptr<Stopping> rule, std::function<bool(Nanoseconds)> settled, const std::string& what,
                                        Nanoseconds longest) {
  return std::make_unique<UntilSettled>(std::move(rule), std::move(settled), what, longest);
}

}  // namespace deepgap
