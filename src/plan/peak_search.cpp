#include "plan/peak_search.h"

#include "stats/sign_confidence.h"

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr double by_far = 0.5;      // share of the bound
constexpr double surely_steep = 2;  // times two standard errors
// Refining runs lie where twice and half as many are late as may be, where the slope is known.
constexpr double refining_logit = 0.7;
constexpr int fewest_refining = 20;  // before that a narrow interval is too often one by chance
// A search that ends when its interval is narrow ends too soon by chance, and then the interval holds less often than it says.
constexpr double narrower_than_asked = 0.85;
constexpr double widest_refining = 0.1;  // distance in the logarithm of the load: farther off the line is bent

// Rounds to six digits, so that a user reads and types what was run. Rounded again it is the same.
double six_digits(double load, double (*round)(double)) {
  const double places = 5 - std::floor(std::log10(load));
  const double scale = std::pow(10, std::abs(places));
  return places >= 0 ? round(load * scale) / scale : round(load / scale) * scale;
}

// So that the lowest and the highest load are met exactly, where the search ends.
PeakSettings in_six_digits(PeakSettings settings) {
  if (settings.whole) return settings;
  settings.lowest = six_digits(settings.lowest, std::ceil);
  settings.most = six_digits(settings.most, std::floor);
  return settings;
}

}  // namespace

const char* name_of(PeakPhase phase) {
  switch (phase) {
    case PeakPhase::bracket:
      return "bracket";
    case PeakPhase::bisect:
      return "bisect";
    case PeakPhase::confirm:
      return "confirm";
    default:
      return "refine";
  }
}

double PeakResult::confidence() const { return runs == 0 ? 0 : sign_confidence(runs + higher_runs, held + higher_held); }

PeakSearch::PeakSearch(const PeakSettings& settings) : settings_(in_six_digits(settings)), load_(rounded(settings.from)) {}

double PeakSearch::rounded(double load) const {
  load = std::clamp(load, settings_.lowest, settings_.most);
  return settings_.whole ? std::round(load) : six_digits(load, std::round);
}

double PeakSearch::above(double load) const {
  const double there = load * (1 + settings_.ratio);
  return rounded(settings_.whole ? std::max(load + 1, std::floor(there)) : there);
}

double PeakSearch::below(double load) const {
  const double half_steps = std::exp2(std::max(rejected_ - 4, 0));
  const double there = load / (1 + settings_.ratio / 2 * half_steps);
  return rounded(settings_.whole ? std::min(load - 1, std::ceil(there)) : there);
}

void PeakSearch::add(const PeakRun& run) {
  ++runs_;
  result_.all_runs = runs_;
  if (run.queries > 0) seen_.push_back({load_, run.queries, run.late});
  if (phase_ == PeakPhase::refine) return refine();
  undecided_ = run.undecided ? undecided_ + 1 : 0;
  if (undecided_ > 1) {
    give_up();
    result_.untold = load_;
    return end(PeakResult::Ending::undecided);
  }
  if (run.undecided) {
    // The same load runs again.
  } else if (phase_ != PeakPhase::confirm) {
    decide(run);
  } else if (load_ == result_.load) {
    confirm(run.held);
  } else {
    confirm_above(run.held);
  }
  if (!finished() && runs_ >= settings_.most_runs) give_up();
}

void PeakSearch::settle() {
  if (phase_ == PeakPhase::refine || low_ <= 0 || settled_) return;
  settled_ = true;
  rejected_ = 0;  // the first of the larger steps is one step, however many candidates were rejected before
  if (phase_ == PeakPhase::confirm) return;
  holds_ = misses_ = 0;
  try_candidate(low_);
}

void PeakSearch::give_up() {
  if (phase_ == PeakPhase::refine) return end(PeakResult::Ending::confirmed);  // it was before
  // If only the runs one step above are incomplete, the load itself is known to hold.
  if (phase_ == PeakPhase::confirm && result_.runs > 0 && fewest_to_answer() == 0) {
    if (result_.held < settings_.confirm) {
      result_.higher_held = higher_held_;
      result_.higher_runs = higher_runs_;
    }
    return end(PeakResult::Ending::confirmed);
  }
  if (phase_ != PeakPhase::confirm) result_.load = low_;
  end(PeakResult::Ending::gave_up);
}

int PeakSearch::fewest_to_answer() const {
  int more = result_.runs == 0 ? 1 : 0;
  const auto confidence = [&] { return sign_confidence(result_.runs + higher_runs_ + more, result_.held + higher_held_ + more); };
  while (result_.held + more < settings_.confirm && confidence() < settings_.least_confidence) ++more;
  return more;
}

// A miss is run again, however clear: it may be a hiccup of the machine, and a hopeless run is a short one. A clear hold is not: were it
// wrong, the confirming runs would show it.
void PeakSearch::decide(const PeakRun& run) {
  ++(run.held ? holds_ : misses_);
  const bool clear = run.held && misses_ == 0 && run.percentile && run.percentile->high < 1;
  if (!clear && std::max(holds_, misses_) < 2) return;
  const bool held = clear || holds_ > misses_;
  holds_ = misses_ = 0;
  edge_found(held, clear && run.percentile->high < by_far);
}

// From a load of which a thousandth of the machine would do, doubling takes ten runs: where queries answer in far less than the bound, the
// factor is squared from run to run.
void PeakSearch::edge_found(bool held, bool by_far) {
  (held ? low_ : high_) = load_;
  if (held) held_.push_back(load_);
  if (low_ > 0 && high_ > 0) return bisect();
  if (held && load_ >= settings_.most) {
    result_.load = load_;
    return end(PeakResult::Ending::no_limit);
  }
  if (!held && load_ <= settings_.lowest) {
    result_.load = load_;
    return end(PeakResult::Ending::not_held);
  }
  growth_ = by_far ? std::min(growth_ * growth_, settings_.growth) : 2;
  load_ = rounded(held ? load_ * growth_ : load_ / 2);
}

void PeakSearch::bisect() {
  phase_ = PeakPhase::bisect;
  const double middle = rounded(settings_.whole ? std::floor((low_ + high_) / 2) : std::sqrt(low_ * high_));
  const bool close = high_ <= low_ * (1 + settings_.ratio / 2) || middle <= low_ || middle >= high_;
  if (close) return try_candidate(low_);
  load_ = middle;
}

void PeakSearch::try_candidate(double load) {
  phase_ = PeakPhase::confirm;
  result_.load = load_ = load;
  result_.held = result_.runs = result_.above_held = result_.above_runs = 0;
  result_.above = above(load);
  result_.above_missed = false;
  if (!settled_) return;
  result_.above_missed = high_ > load;
  result_.above = high_ > load ? std::max(high_, result_.above) : high_ > 0 ? result_.above : 0;
}

void PeakSearch::confirm(bool held) {
  ++result_.runs;
  if (!held) {
    if (2 * result_.held >= settings_.confirm) rejected_ = 0;  // not far any more
    return step_down();
  }
  if (++result_.held < settings_.confirm) return;
  if (result_.above == 0) return end(PeakResult::Ending::confirmed);
  load_ = result_.above;
}

void PeakSearch::step_down() {
  if (result_.load <= settings_.lowest) return end(PeakResult::Ending::not_held);
  ++rejected_;
  higher_held_ += result_.held;
  higher_runs_ += result_.runs;
  const double missed = result_.load;
  try_candidate(settled_ ? held_below(missed) : below(missed));
}

// There is time for few more candidates: each is at least twice as far from the one before as that was.
double PeakSearch::held_below(double load) const {
  const auto steps_below = [&](int doublings) { return load / (1 + settings_.ratio * std::exp2(std::min(doublings, 10))); };
  const double step = std::min(below(load), rounded(steps_below(rejected_)));
  double best = 0;
  for (const double held : held_)
    if (held <= step) best = std::max(best, held);
  return best > steps_below(rejected_ + 2) ? best : step;
}

// Here the candidate is confirmed: it never moves down again, so that moving up comes to an end whatever it did before.
void PeakSearch::confirm_above(bool held) {
  ++result_.above_runs;
  if (held) ++result_.above_held;
  if (result_.above_runs < settings_.confirm) return;
  const bool all = result_.above_held == settings_.confirm;
  if (!all) {
    look_at_the_crossing();
    if (settings_.interval > 0 && !was_narrow_) return refine();
    return end(PeakResult::Ending::confirmed);
  }
  const int runs = result_.above_runs;
  higher_held_ = higher_runs_ = 0;
  try_candidate(result_.above);  // confirmed already, by the runs above the former one
  result_.runs = result_.held = runs;
  load_ = result_.above;
  if (result_.above <= result_.load) end(PeakResult::Ending::no_limit);
}

void PeakSearch::look_at_the_crossing() {
  if (settings_.allowed_share <= 0 || settings_.whole) return;
  result_.crossing = find_crossing(seen_, settings_.allowed_share);
  // A search that does not refine has few runs: a slope that only looks steep enough by chance makes a narrow interval.
  if (result_.crossing && settings_.interval <= 0 &&
      result_.crossing->slope < surely_steep * (result_.crossing->slope_high - result_.crossing->slope))
    result_.crossing->interval.reset();
  const bool known = result_.crossing && result_.crossing->interval && result_.crossing->interval->low > 0;
  was_narrow_ =
      known && std::log(result_.crossing->interval->high / result_.crossing->interval->low) / 2 <= narrower_than_asked * settings_.interval;
}

// The number of runs is chosen by the interval: it is narrow by chance less often twice in a row.
void PeakSearch::refine() {
  const bool was_narrow = was_narrow_;
  if (phase_ == PeakPhase::refine) look_at_the_crossing();
  const bool is_known = was_narrow && was_narrow_ && refining_ >= fewest_refining;
  if (is_known || refining_ == settings_.most_refining) return end(PeakResult::Ending::confirmed);
  if (phase_ != PeakPhase::refine) middle_ = result_.load;
  phase_ = PeakPhase::refine;
  load_ = rounded(refining_load());
  ++refining_;
}

// Runs in turn above and below the crossing, whose place is followed step by step: a line through few runs may lie anywhere. If there is
// none, goes one step down from a load at which too many were late, and up from any other.
double PeakSearch::refining_load() {
  if (!result_.crossing) {
    const bool too_many = seen_.back().late > settings_.allowed_share * seen_.back().queries;
    return middle_ = seen_.back().load * (too_many ? 1 / (1 + settings_.ratio) : 1 + settings_.ratio);
  }
  const double apart =
      std::clamp(refining_logit / result_.crossing->slope_high, std::min(settings_.ratio / 2, widest_refining), widest_refining);
  middle_ = std::clamp(result_.crossing->load, middle_ * std::exp(-apart), middle_ * std::exp(apart));
  return middle_ * std::exp(refining_ % 2 == 0 ? apart : -apart);
}

}  // namespace deepgap
