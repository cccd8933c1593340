// AutoRepeats: repeats of each Point until they suffice, in blocks of all Points (methodology.md#repeats). A Point has enough when the
// interval over its repeats has been within what is asked, after five repeats and after the one before, since stopping at the first such
// moment prefers those in which the scatter looks small by chance. A repeat by itself need not be known so well: in the mean five that do
// not differ come to what is asked where each is known to 1.49 times that. Nor need it be known better than repeats differ: its own
// interval may be as wide as makes the time of all least. Five windows of the usual length have seen what lasts for seconds; those of later
// repeats end as soon as their interval allows.
//   Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
#pragma once

#include "plan/planner.h"
#include "stats/interval.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

inline constexpr int most_auto_repeats = 30;

class AutoRepeats final : public Planner {
 public:
  // `grid`: of as many repeats as there may be. `is_over`: no time is left; asked before each Batch.
  AutoRepeats(std::unique_ptr<Planner> grid, std::function<bool()> is_over) : grid_(std::move(grid)), is_over_(std::move(is_over)) {}

  Batch next() override;
  void done(const Record& record) override;  // also of an earlier run
  size_t remaining() const override { return grid_->remaining(); }

 private:
  struct Seen {
    std::vector<double> values;            // values of the target: throughput, or a percentile of latency
    double asked = 0;                      // relative interval asked for over the repeats
    std::vector<double> own_variances;     // relative variance of each run's mean
    std::vector<double> second_variances;  // what that would have been after a second
    std::vector<double> overheads;         // seconds of a repeat besides its window, without what its process shares
    int failures = 0;                      // in a row

    void add_run(const Record& record);
    double interval_of_a_run() const;
    double between() const;
    bool enough() const;
  };

  Seen& seen_of(const Job& job);

  std::unique_ptr<Planner> grid_;
  std::function<bool()> is_over_;
  std::map<std::string, Seen> seen_;  // by point_id
};

}  // namespace deepgap
