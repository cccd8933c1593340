#include "worker/sliced_window.h"

#include "scenario/turn.h"

#include <string>

namespace deepgap {
namespace {

// Passes the timings of one slice on: to the log as they are, to the rule in own time.
class OwnTimings final : public TimingSink {
 public:
  OwnTimings(Stopping& rule, TimingSink& log, Nanoseconds own_end) : rule_(rule), log_(log), own_end_(own_end) {}
  void follow(const Turn& turn) { turn_ = &turn; }
  void add(const Timing& timing) override {
    log_.add(timing);
    Timing own = timing;
    for (Nanoseconds* time : {&own.scheduled, &own.begin, &own.end}) *time += own_end_ - turn_->begin();
    rule_.add({&own, 1});
  }

 private:
  Stopping& rule_;
  TimingSink& log_;
  Nanoseconds own_end_;
  const Turn* turn_ = nullptr;
};

struct Ignored final : TimingSink {
  void add(const Timing& /*timing*/) override {}
};

// Ends a slice when it is as long as asked, or the whole window has ended.
class SliceEnd final : public Stopping {
 public:
  SliceEnd(const Turn& turn, const Stopping* rule) : turn_(turn), rule_(rule) {}
  std::string name() const override { return "slice"; }
  void add(std::span<const Timing> /*timings*/) override {}  // they came by the other way
  State state() const override { return rule_ != nullptr && rule_->state() != State::more ? State::enough : turn_.state(); }
  std::string reason() const override { return {}; }
  Estimate throughput() const override { return turn_.throughput(); }

 private:
  const Turn& turn_;
  const Stopping* rule_;
};

}  // namespace

SlicedWindow::Gave SlicedWindow::take(Scenario& scenario, const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted,
                                      Nanoseconds length, int64_t pair) {
  const bool is_kept = pair >= 0;
  Ignored ignored;
  OwnTimings own(rule_, log_, own_end_);
  Turn turn(length, !is_slow_, is_kept ? static_cast<TimingSink&>(own) : ignored);
  own.follow(turn);
  SliceEnd end(turn, is_kept ? &rule_ : nullptr);
  Traffic slice = traffic;
  slice.stopping = &end;
  slice.sink = &turn;
  scenario.drive(slice, clock, interrupted);
  is_slow_ = turn.queries() > 0 && turn.seconds() * 1e9 / static_cast<double>(turn.queries()) >= static_cast<double>(length);
  Gave gave{0, turn.whole_seconds()};
  if (turn.queries() == 0) return gave;
  // The last slice may be cut short, and says little then.
  if (turn.state() != Stopping::State::more || 2 * (turn.end() - turn.begin()) >= length) gave.items_per_s = turn.throughput().value;
  if (is_kept) keep(turn, gave.items_per_s, pair);
  return gave;
}

void SlicedWindow::keep(const Turn& turn, double items_per_s, int64_t pair) {
  slices_.emplace_back(turn.begin(), turn.end());
  own_end_ += turn.end() - turn.begin();
  left_out_ += turn.left_out();
  if (!(items_per_s > 0)) return;
  for (Series* series : {&throughput_, &pairs_}) series->times.push_back(turn.end());
  throughput_.values.push_back(items_per_s);
  pairs_.values.push_back(static_cast<double>(pair));
}

}  // namespace deepgap
