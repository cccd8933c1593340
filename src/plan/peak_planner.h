// PeakPlanner: a Planner whose Points differ in load alone and are chosen by a PeakSearch from the Records so far. Several Jobs that it is
// given are searched one after the other. Used by the parent's one thread.
#pragma once

#include "plan/peak_costs.h"
#include "plan/peak_search.h"
#include "plan/planner.h"
#include "plan/search_run.h"
#include "record/load_axis.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

struct PeakOrder {
  LoadAxis axis;
  PeakSettings settings;
  std::string bound;          // "p99=15ms"
  double limit_ms = 0;        // limit of the bound
  std::string percentile_id;  // Metric of the bounded percentile
  int64_t decided_by = 0;     // the fewest queries that decide whether the bound is held
  Nanoseconds budget = 0;     // time for all searches; 0: no limit
  int searches = 1;           // that share the budget
  bool own_window = false;    // the user chose the windows' length; else they have to fit into the budget
};

// The number of runs that most searches take, which a dry run reports.
inline constexpr int usual_peak_runs = 35;

// Returns the shortest time in which a search may confirm a load, whatever the load is and if nothing but its windows takes time.
Nanoseconds least_peak_budget(const PeakOrder& order, Nanoseconds window);

// `searched` Jobs are Points at which a search begins. A run is known by load, phase and its number in the search, so that known Records
// lead the search the way that they led it when they were made.
class PeakPlanner final : public Planner {
 public:
  PeakPlanner(std::vector<Job> searched, PeakOrder order, SearchRun run);

  Batch next() override;  // one Job, which done() must answer before the next is asked for
  void done(const Record& record) override;
  size_t remaining() const override { return searched_.size() - found_.size(); }
  PlannerResult result() const override { return {found_, {}}; }
  const std::vector<FoundPeak>& found() const { return found_; }

 private:
  Job job_at(double load) const;
  void finish(std::string reason);
  void note_time(double used);          // what the run that has ended took
  bool settle_in_time(double used);     // settles where the time left is needed to confirm; false: it does not suffice for that
  double left_s(double used) const;     // for the search under way
  double looking_s(double load) const;  // predicted time of a run
  double confirming_s(double load) const;
  std::string budget_that_would_do() const;  // "; --budget 80s should do"
  void tell_best_so_far(PeakResult& result) const;

  struct LoadTally {
    int held = 0, runs = 0;
    void add(bool is_held) {
      ++runs;
      if (is_held) ++held;
    }
  };

  std::vector<Job> searched_;
  PeakOrder order_;
  SearchRun run_;
  std::unique_ptr<PeakSearch> search_;
  std::vector<FoundPeak> found_;
  std::map<double, LoadTally> tried_;  // loads of the search under way, of whatever phase
  int runs_ = 0;                       // runs of the search under way
  PeakCosts costs_;                    // learned from all searches
  std::optional<TimedRun> last_run_;   // its time is not known yet
  double used_before_ = 0;             // share of the time allowed when it began
  double search_ends_ = 1;             // share of the time allowed that the search under way may reach
};

// These describe each run of a search; TunePlanner makes such runs too.
std::string load_text(double load);
void set_peak_run(Job& job, const PeakOrder& order, double load, PeakPhase phase);  // all but point_id and repeat
// Returns the length of a run that goes to its end: `whole`, or what a search of usual length leaves for each within its budget, as far as
// the load brings queries enough in that: far more than decide the SLO, or where the budget is too short for so many, half as many again.
Nanoseconds full_window(Nanoseconds whole, const PeakOrder& order, double load);
// Returns the length of a run that does not confirm: a fifth of the whole window, if `load` brings far more queries than it needs.
Nanoseconds search_window(Nanoseconds whole, const PeakOrder& order, double load);
PeakRun peak_run_of(const Record& record, const PeakOrder& order);

// "47.1 queries a second hold p99=100ms: 5 of 5 runs (at least half of all do, with 97 % confidence); 48.0, one step above: 0 of 5"
std::string peak_text(const FoundPeak& found, const PeakOrder& order);

}  // namespace deepgap
