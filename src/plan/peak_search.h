// PeakSearch: finds the largest load under which a bound on latency is held, by runs whose verdicts are noisy. Pure: the caller reports
// each run and asks for the next load; it knows no time, no engine and no Point. One thread.
//
// Three phases, and a fourth where it is asked for (docs/explanation/methodology.md#maximum-load has the reasons and the sources):
//   bracket  from `from`, doubling while it is held (faster where it is held by far), halving while it is missed;
//   bisect   at the geometric mean, until the two edges are within half of `ratio` (or next to each other where loads are whole numbers);
//   confirm  `confirm` fresh runs at the lower edge, which must all hold, and as many one step (`ratio`) above. A miss moves the candidate
//            down by half a step, from the fifth one in a row on by twice as much as the last time, until half of them hold; once all are
//            held, and all runs above hold too, it moves up to there, and only up from then on;
//   refine   runs above and below the load at which the bound is just held, by what all runs show together (stats/crossing.h), until that
//            one is known as well as `interval` asks, for two runs in a row.
// While bracketing and bisecting, a held run counts at once where its percentile's interval lies below the bound; everything else is run
// again until two of at most three agree. An undecided run is made again, and a second one ends the search. Verdicts that contradict each
// other so cost runs and cannot make the search go on forever: each phase only moves one way, and `most_runs` ends it in any case.
#pragma once

#include "stats/crossing.h"
#include "stats/interval.h"

#include <optional>
#include <vector>

namespace deepgap {

struct PeakSettings {
  double from = 1;
  double lowest = 1;               // no smaller load is tried
  double most = 1e9;               // and no larger one
  double ratio = 0.02;             // that the answer may be below the peak, and the step of confirming; above 0
  double growth = 16;              // largest factor between the loads of two runs while bracketing; 2 or more
  bool whole = false;              // loads are whole numbers
  int confirm = 5;                 // runs each
  double least_confidence = 0.85;  // confirming runs answer with it where time ends before `confirm` of them: three that all held
  int most_runs = 150;
  double allowed_share = 0;  // share of queries that may be late under the bound; 0: not known, and no crossing is reported
  double interval = 0;       // half-width of the crossing's interval over its value; 0: no run is made for it
  int most_refining = 300;   // runs besides
};

enum class PeakPhase { bracket, bisect, confirm, refine };
const char* name_of(PeakPhase phase);

// The result of a run at the load that next() named.
struct PeakRun {
  bool held = false;
  std::optional<Interval> percentile;  // 95 % interval of what is bounded, as a share of the bound: below 1 is held
  bool undecided = false;              // too few queries to decide: neither held nor missed
  double queries = 0, late = 0;        // counts in the window; 0: not known
};

struct PeakResult {
  enum class Ending {
    searching,
    confirmed,  // at `load` all of `runs` held; `confirm` of them, or fewer where time ended
    not_held,   // not even `load`, the lowest that was tried, is held
    no_limit,   // `load` is the largest that may be tried, and is held
    undecided,  // two runs in a row at `untold` were undecided; `load`, the best so far (0: none), is not confirmed
    gave_up     // runs or time ran out; the same
  };
  Ending ending = Ending::searching;
  double load = 0;
  int held = 0, runs = 0;                // while confirming, at `load`
  int higher_held = 0, higher_runs = 0;  // and at higher loads, where time ended: a load is met at least as often as a higher one
  double untold = 0;                     // the load at which an undecided search ended
  double above = 0;           // one step up; where the search was settled, the nearest load above that was missed, 0: none was tried
  bool above_missed = false;  // runs that looked for the load missed there
  int above_held = 0, above_runs = 0;  // there
  int all_runs = 0;                    // runs of the whole search
  std::optional<Crossing> crossing;    // for a confirmed search: where the bound is just held in the long run, by all runs

  // Returns the confidence that at least half of all runs at `load` hold, by the sign test over those that confirmed it (and where time
  // ended, those at higher loads); 0 without them.
  double confidence() const;
};

class PeakSearch {
 public:
  explicit PeakSearch(const PeakSettings& settings);

  bool finished() const { return result_.ending != PeakResult::Ending::searching; }
  double load() const { return load_; }  // load of the next run; only while not finished
  PeakPhase phase() const { return phase_; }
  double low() const { return low_; }  // the largest load that was held, the smallest that was missed; 0: none yet
  double high() const { return high_; }
  void add(const PeakRun& run);
  // No time for a closer search: the largest load that was held so far is confirmed next, and where one of its runs misses, the next lower
  // load that was held.
  void settle();
  // Returns how many more runs at the load that is being confirmed give an answer, if all hold; 0: there is one.
  int fewest_to_answer() const;
  // No time for another run. What fewer confirming runs than planned have shown stands, with its lower confidence.
  void give_up();
  const PeakResult& result() const { return result_; }

 private:
  void decide(const PeakRun& run);
  void edge_found(bool held, bool by_far);
  void bisect();
  void confirm(bool held);
  void confirm_above(bool held);
  void look_at_the_crossing();
  void refine();
  double refining_load();
  void step_down();
  void end(PeakResult::Ending ending) { result_.ending = ending; }
  void try_candidate(double load);
  double above(double load) const;  // one step
  double below(double load) const;  // half a step, or more where candidates miss again and again
  double rounded(double load) const;
  double held_below(double load) const;  // the largest load that was held while looking, some steps below; else that many steps below

  PeakSettings settings_;
  PeakPhase phase_ = PeakPhase::bracket;
  PeakResult result_;
  double load_;
  double growth_ = 2;           // factor of the load while bracketing
  double low_ = 0, high_ = 0;   // held and missed; 0: none yet
  std::vector<double> held_;    // all that were held while looking
  int holds_ = 0, misses_ = 0;  // at load_
  int undecided_ = 0;           // runs in a row
  std::vector<LoadRun> seen_;
  int refining_ = 0;         // runs
  double middle_ = 0;        // middle of the refining loads
  bool was_narrow_ = false;  // the crossing's interval at the last look
  bool settled_ = false;
  int higher_held_ = 0, higher_runs_ = 0;  // confirming runs at candidates above this one
  int runs_ = 0, rejected_ = 0;            // candidates in a row
};

}  // namespace deepgap
