#include "worker/bounded_window.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr double spare = 1.5;  // times as many queries as a bound needs

class UntilDecided final : public Stopping {
 public:
  UntilDecided(std::unique_ptr<Stopping> rule, const LatencyBound& bound, Nanoseconds most, BoundRule by)
      : rule_(std::move(rule)), bound_(bound), most_(most), by_(by), next_look_(fewest_to_hold(bound)) {}
  std::string name() const override { return rule_->name(); }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) {
      if (rule_->state() != State::more) grew_ = true;
      if (count_++ == 0) begin_ = timing.begin;
      end_ = std::max(end_, timing.end);
      if (timing.end - timing.scheduled > bound_.limit) ++missed_;
      rule_->add(std::span(&timing, 1));
      if (rule_->state() != State::more) look();
    }
  }
  State state() const override {
    const State state = rule_->state();
    return state == State::more || decided_ || end_ - begin_ >= most_ ? state : State::more;
  }
  std::string reason() const override {
    if (!grew_ || state() == State::more) return rule_->reason();
    return fmt::format("{}; {} queries after {}, for the SLO {}", rule_->reason(), count_, format_duration(end_ - begin_), bound_.text);
  }
  Estimate throughput() const override { return rule_->throughput(); }
  WindowVerdict verdict() const override { return rule_->verdict(); }

 private:
  // It is decided by a look, as what follows is not asked for.
  void look() {
    if (by_ == BoundRule::nearest_rank) {
      decided_ = is_decided(bound_, count_, missed_);
    } else if (!looked_ || count_ >= next_look_) {
      decided_ = answer_of(bound_, count_, missed_) != BoundAnswer::unknown;
      while (next_look_ <= count_) next_look_ += std::max<int64_t>(1, next_look_ / 4);
      looked_ = true;
    }
  }

  std::unique_ptr<Stopping> rule_;
  LatencyBound bound_;
  Nanoseconds most_;
  BoundRule by_;
  int64_t next_look_;
  bool decided_ = false, looked_ = false;
  int64_t count_ = 0, missed_ = 0;
  Nanoseconds begin_ = 0, end_ = 0;
  bool grew_ = false;
};

}  // namespace

int64_t fewest_that_tell(const LatencyBound& bound, BoundRule rule) {
  return rule == BoundRule::shown ? fewest_to_hold(bound) : fewest_queries(bound);
}

StoppingSettings grown_settings(const StoppingSettings& asked, const LatencyBound& bound, double rate, BoundRule rule) {
  if (asked.name != "duration" || !asked.duration || rate <= 0) return asked;
  const double wanted = spare * static_cast<double>(fewest_that_tell(bound, rule)) / rate * 1e9;
  const auto most = static_cast<double>(std::max(*asked.duration, asked.budget));
  StoppingSettings grown = asked;
  grown.duration = std::max(*asked.duration, static_cast<Nanoseconds>(std::min(wanted, most)));
  return grown;
}

Nanoseconds longest_window(const StoppingSettings& asked, const LatencyBound& bound, bool peak_search, Nanoseconds pause) {
  const Nanoseconds usual = std::max(asked.duration.value_or(0), asked.budget);
  if (!peak_search) return usual;
  const double wanted =
      spare * static_cast<double>(fewest_queries(bound)) * (static_cast<double>(bound.limit) + static_cast<double>(pause));
  constexpr double day = 86'400e9;
  return std::max(usual, static_cast<Nanoseconds>(std::min(wanted, day)));
}

std::unique_ptr<Stopping> until_decided(std::unique_ptr<Stopping> rule, const LatencyBound& bound, Nanoseconds most, BoundRule by) {
  return std::make_unique<UntilDecided>(std::move(rule), bound, most, by);
}

}  // namespace deepgap
