// TuneSearch: which of many configurations is the best, found by runs that scatter. Pure: it names the next run and takes its result; it
// knows no engine and no Point, and only how much of the time is used. One thread. There are two, one for each aim:
//   throughput  sequential halving: in each round as many runs as there were configurations, then the better half goes on;
//   peak        a race of peak searches: the largest load that holds a bound (plan/peak_search.h). A configuration that has missed a load
//               which another one held is out.
// Both search by few runs and then confirm the best few by fresh ones in turn; only those speak for them. methodology.md#tuning has
// sources, reasons and error rates.
#pragma once

#include "plan/peak_search.h"
#include "stats/interval.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace deepgap {

enum class TuneStage { search, confirm };
const char* name_of(TuneStage stage);

struct TuneSettings {
  size_t configurations = 0;
  size_t finalists = 4;       // that are confirmed, at most; fewer where time is short
  int confirm = 5;            // fresh runs each; a peak search has its own number
  double search_share = 0.6;  // share of the time for the search; then the best so far are confirmed
  uint64_t seed = 1;          // seed for the order of runs
};

struct TuneTrial {
  size_t configuration = 0;
  TuneStage stage = TuneStage::search;
  int number = 0;              // distinguishes runs of one configuration, stage and load
  std::optional<double> load;  // for a peak race
  PeakPhase phase{};           // phase of that configuration's peak search
};

// The result of a trial.
struct TuneRun {
  bool failed = false;                          // no result: the configuration is out
  double throughput = 0;                        // above 0
  std::optional<Interval> throughput_interval;  // 95 %, within the run
  PeakRun peak;                                 // for a peak race
};

struct TuneStanding {
  size_t configuration = 0;
  double value = 0;                  // throughput, or the largest load that held
  std::optional<Interval> interval;  // throughput: 95 % over the confirming runs; peak: from `value` to the load one step above
  int runs = 0;                      // behind it, those that confirm
  bool confirmed = false;            // by all the runs it takes
  bool tied = false;                 // not significantly different from the first
  PeakResult peak;
};

class TuneSearch {
 public:
  virtual ~TuneSearch() = default;
  // Returns nullopt when finished. `time_used`: share of the time allowed; from 1 on nothing is begun. Each trial must be answered by add()
  // before the next one is asked for.
  virtual std::optional<TuneTrial> next(double time_used) = 0;
  virtual void add(const TuneTrial& trial, const TuneRun& run) = 0;
  // The finalists, best first; before there are any, what has shown itself best. Empty where nothing was found.
  virtual std::vector<TuneStanding> standings() const = 0;
};

std::unique_ptr<TuneSearch> make_throughput_race(const TuneSettings& settings);
std::unique_ptr<TuneSearch> make_peak_race(const TuneSettings& settings, const PeakSettings& peak);

// Returns how many of `left` can be confirmed, each by `runs_each`, in the time that is left at the pace so far: `most` of them where that
// is not known, and two at least.
size_t affordable_finalists(size_t left, size_t most, int runs_each, double time_used, int runs_so_far);

}  // namespace deepgap
