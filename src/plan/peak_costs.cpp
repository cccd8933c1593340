#include "plan/peak_costs.h"

#include <algorithm>

namespace deepgap {
namespace {

constexpr double lead_share = 0.2;  // queries come before the window for this share of it (scenario/open_loop.cpp)
constexpr double longer = 1.1;      // the next one may take somewhat longer around its window than the longest so far

}  // namespace

void PeakCosts::add(const TimedRun& run) {
  const double around_s = std::max(0.0, run.seconds - run.window_s - lead_share * run.asked_s);
  if (runs_++ == 0) {
    first_around_s_ = around_s;
  } else if (run.in_own_process) {
    ++confirmed_;
    confirming_around_s_ = std::max(confirming_around_s_, around_s);
  } else {
    ++looks_;
    looking_around_s_ = std::max(looking_around_s_, around_s);
  }
  if (run.held) grown_s_ = run.window_s > 1.05 * run.asked_s ? run.window_s : 0;
}

double PeakCosts::looking_s(double asked_s) const {
  const double around_s = looks_ > 0 ? looking_around_s_ : first_around_s_;
  return longer * around_s + lead_share * asked_s + std::max(asked_s, grown_s_);
}

double PeakCosts::confirming_s(double asked_s) const {
  const double around_s = confirmed_ > 1 ? confirming_around_s_ : std::max(first_around_s_, confirming_around_s_);
  return longer * around_s + lead_share * asked_s + std::max(asked_s, grown_s_);
}

}  // namespace deepgap
