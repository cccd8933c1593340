// A race of peak searches (Maron and Moore, "Hoeffding races", NIPS 1993, with what is known of each peak as its interval: from the load
// that was held to the one that was missed). The next run is that of the configuration that may still have the highest peak.
#include "plan/tune_search.h"

#include <algorithm>
#include <limits>

namespace deepgap {
namespace {

// Peaks count as different when they are this many steps (PeakSettings::ratio) apart or more: tune_search_test.cpp has how often equal ones
// do.
constexpr double steps_apart = 3;

class PeakRace final : public TuneSearch {
 public:
  PeakRace(const TuneSettings& settings, const PeakSettings& peak)
      : settings_(settings), peak_(peak), apart_(1 + steps_apart * peak.ratio), runners_(settings.configurations) {}

  std::optional<TuneTrial> next(double time_used) override {
    if (time_used >= 1) {
      for (Runner& runner : runners_)
        if (under_way(runner)) runner.search->give_up();
      return std::nullopt;
    }
    if (!confirming_) {
      drop_beaten();
      if (Runner* runner = time_used < settings_.search_share ? most_promising() : nullptr) return trial(*runner);
      begin_confirming(time_used);
    }
    Runner* runner = next_in_turn();
    return runner == nullptr ? std::nullopt : std::optional(trial(*runner));
  }

  void add(const TuneTrial& trial, const TuneRun& run) override {
    Runner& runner = runners_[trial.configuration];
    ++runner.runs;
    ++runs_;
    if (run.failed) {
      runner.out = true;
    } else {
      runner.search->add(run.peak);
    }
  }

  std::vector<TuneStanding> standings() const override {
    std::vector<TuneStanding> standings;
    for (size_t i = 0; i < runners_.size(); ++i)
      if (!runners_[i].out && low_of(runners_[i]) > 0) standings.push_back(standing(i));
    std::stable_sort(standings.begin(), standings.end(), [](const TuneStanding& a, const TuneStanding& b) {
      return a.confirmed != b.confirmed ? a.confirmed : a.value > b.value;
    });
    for (TuneStanding& other : standings) {
      const double reach = other.confirmed ? other.value * apart_ : high_of(runners_[other.configuration]);
      other.tied = other.configuration != standings.front().configuration && reach >= standings.front().value;
    }
    return standings;
  }

 private:
  struct Runner {
    std::unique_ptr<PeakSearch> search;  // null: not begun
    int runs = 0;
    int turns = 0;  // while confirming
    bool out = false;
  };

  static bool under_way(const Runner& runner) { return !runner.out && runner.search != nullptr && !runner.search->finished(); }
  static double low_of(const Runner& runner) { return runner.search == nullptr ? 0 : runner.search->low(); }
  // Above it the peak cannot be; infinity: not known.
  static double high_of(const Runner& runner) {
    return runner.search == nullptr || runner.search->high() == 0 ? std::numeric_limits<double>::infinity() : runner.search->high();
  }

  double best_low() const {
    double best = 0;
    for (const Runner& runner : runners_)
      if (!runner.out) best = std::max(best, low_of(runner));
    return best;
  }

  void drop_beaten() {
    const double best = best_low();
    for (Runner& runner : runners_) {
      const bool beaten = best > 0 && high_of(runner) * apart_ <= best;
      const bool hopeless = runner.search != nullptr && runner.search->result().ending == PeakResult::Ending::not_held;
      runner.out = runner.out || beaten || hopeless;
    }
  }

  // The one that may have the highest peak. Nothing is known against several of them at first: there whoever has begun goes on until its
  // bracket is closed, so that the others can begin at what it held.
  static bool more_promising(const Runner& a, const Runner& b) {
    if (high_of(a) != high_of(b)) return high_of(a) > high_of(b);
    const bool a_begun = a.search != nullptr, b_begun = b.search != nullptr;
    return a_begun != b_begun ? a_begun : a.runs < b.runs;
  }

  // nullptr: all that are left are ready to be confirmed.
  Runner* most_promising() {
    Runner* found = nullptr;
    for (Runner& runner : runners_) {
      const bool ready = runner.search != nullptr && (runner.search->finished() || runner.search->phase() == PeakPhase::confirm);
      if (runner.out || ready) continue;
      if (found == nullptr || more_promising(runner, *found)) found = &runner;
    }
    if (found != nullptr && found->search == nullptr) begin(*found);
    return found;
  }

  void begin(Runner& runner) {
    PeakSettings settings = peak_;
    settings.growth = 2;                                           // the others are compared by their brackets: wide ones look promising
    settings.from = std::max(settings.from, best_low() / apart_);  // a miss there is enough
    runner.search = std::make_unique<PeakSearch>(settings);
  }

  // Whoever has not held any load has none to be confirmed.
  void begin_confirming(double time_used) {
    confirming_ = true;
    std::vector<Runner*> left;
    for (Runner& runner : runners_) {
      if (!runner.out && low_of(runner) > 0) left.push_back(&runner);
      runner.out = true;
    }
    std::stable_sort(left.begin(), left.end(), [](const Runner* a, const Runner* b) { return low_of(*a) > low_of(*b); });
    left.resize(affordable_finalists(left.size(), settings_.finalists, 2 * peak_.confirm, time_used, runs_));
    for (Runner* runner : left) runner->out = false;
  }

  Runner* next_in_turn() {
    Runner* found = nullptr;
    for (Runner& runner : runners_)
      if (under_way(runner) && (found == nullptr || runner.turns < found->turns)) found = &runner;
    if (found != nullptr) ++found->turns;
    return found;
  }

  TuneTrial trial(const Runner& runner) const {
    const PeakSearch& search = *runner.search;
    const TuneStage stage = search.phase() == PeakPhase::confirm ? TuneStage::confirm : TuneStage::search;
    return {static_cast<size_t>(&runner - runners_.data()), stage, runner.runs, search.load(), search.phase()};
  }

  TuneStanding standing(size_t who) const {
    const PeakSearch& search = *runners_[who].search;
    TuneStanding standing;
    standing.configuration = who;
    standing.peak = search.result();
    standing.confirmed = standing.peak.ending == PeakResult::Ending::confirmed || standing.peak.ending == PeakResult::Ending::no_limit;
    standing.value = standing.peak.load > 0 ? standing.peak.load : search.low();
    standing.runs = standing.peak.runs;
    if (standing.peak.above > standing.value) standing.interval = Interval{standing.value, standing.peak.above};
    return standing;
  }

  TuneSettings settings_;
  PeakSettings peak_;
  double apart_;  // ratio of two peaks from which on they are
  std::vector<Runner> runners_;
  bool confirming_ = false;
  int runs_ = 0;
};

}  // namespace

std::unique_ptr<TuneSearch> make_peak_race(const TuneSettings& settings, const PeakSettings& peak) {
  return std::make_unique<PeakRace>(settings, peak);
}

}  // namespace deepgap
