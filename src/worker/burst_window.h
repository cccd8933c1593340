// BurstWindow: a window of what was measured before a GPU came to its power limit. Timings wait until a reading of the GPU that was taken
// after they ended shows it below the limit; then they go to the rule and the log. The window ends by its rule, or at the limit. Used as
// sink and Stopping of one Traffic; one thread.
#pragma once

#include "scenario/scenario.h"
#include "telemetry/limit_watch.h"

#include <deepgap/record.h>

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

class BurstWindow final : public TimingSink, public Stopping {
 public:
  // `seen`: asked after each query. `rule` and `log` outlive this.
  BurstWindow(std::function<LimitWatch::Seen()> seen, Stopping& rule, TimingSink& log) : seen_(std::move(seen)), rule_(rule), log_(log) {}

  // TimingSink
  void add(const Timing& timing) override;
  // Stopping
  std::string name() const override { return rule_.name(); }
  void add(std::span<const Timing> /*timings*/) override {}  // they came by the other way
  State state() const override { return reached_ ? State::enough : rule_.state(); }
  std::string reason() const override;
  Estimate throughput() const override { return rule_.throughput(); }

  bool reached_limit() const { return reached_; }

 private:
  std::function<LimitWatch::Seen()> seen_;
  Stopping& rule_;
  TimingSink& log_;
  std::deque<Timing> waiting_;
  bool reached_ = false, begun_ = false;
  Nanoseconds begin_ = 0, end_ = 0;  // what was passed on
};

// With the watch over its GPUs, which begins at once.
struct Burst {
  Burst(Clock& clock, std::vector<GpuReader> gpus, Stopping& rule, TimingSink& log)
      : limit(clock, std::move(gpus)), window([this] { return limit.seen(); }, rule, log) {
    limit.start();
  }
  LimitWatch limit;
  BurstWindow window;
};

// The settings of the window: not longer than a GPU needs to its limit, where no length was asked for.
StoppingSettings burst_settings(StoppingSettings settings);
// How the window ended, and in which state the GPU was.
void keep_burst(const BurstWindow& burst, Facts& facts);
// Throws Error{refused}: the limit was there before the first query ended.
[[noreturn]] void throw_empty_burst();

}  // namespace deepgap
