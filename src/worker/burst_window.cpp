#include "worker/burst_window.h"

#include "base/text.h"
#include "worker/power_state.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

void BurstWindow::add(const Timing& timing) {
  waiting_.push_back(timing);
  const LimitWatch::Seen seen = seen_();
  while (!waiting_.empty() && waiting_.front().end <= seen.below_until && rule_.state() == State::more) {
    const Timing next = waiting_.front();
    waiting_.pop_front();
    if (!begun_) begin_ = next.begin;
    begun_ = true;
    end_ = next.end;
    log_.add(next);
    rule_.add({&next, 1});
  }
  reached_ = seen.reached && rule_.state() == State::more;
}

std::string BurstWindow::reason() const {
  if (!reached_) return rule_.reason();
  return fmt::format("the GPU came to its power limit after {}", format_duration(end_ - begin_));
}

StoppingSettings burst_settings(StoppingSettings settings) {
  constexpr Nanoseconds longest = 2'000'000'000;  // a load that reaches the limit does so sooner
  if (settings.name != "interval") return settings;
  settings.duration = std::min(settings.duration.value_or(longest), longest);
  settings.budget = std::min(settings.budget, longest);
  return settings;
}

void keep_burst(const BurstWindow& burst, Facts& facts) {
  if (!burst.reached_limit()) return;
  facts["stopping"] = burst.reason();
  facts[power_state_fact] = std::string("burst");
}

void throw_empty_burst() {
  throw Error(ErrorKind::refused, "power=burst: the GPU came to its power limit before the first query ended; use a smaller batch");
}

}  // namespace deepgap
