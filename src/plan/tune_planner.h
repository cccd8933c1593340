// TunePlanner: a Planner that looks for the best of many Points by a TuneSearch: the highest throughput, or the largest load under a bound.
// Every run is marked by the option `tune` (search or confirm); confirming runs are Points of their own, because those that chose would
// speak for them. Used by the parent's one thread.
#pragma once

#include "plan/peak_planner.h"
#include "plan/search_run.h"
#include "plan/tune_search.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct TuneOrder {
  std::optional<PeakOrder> peak;  // under a bound; nullopt: throughput
  size_t finalists = 4;           // as in TuneSettings
  uint64_t seed = 1;
};

class TunePlanner final : public Planner {
 public:
  // `candidates`: one Job for each configuration; under a bound at any load.
  TunePlanner(std::vector<Job> candidates, TuneOrder order, SearchRun run);

  Batch next() override;  // one Job, which done() must answer before the next is asked for
  void done(const Record& record) override;
  size_t remaining() const override { return finished_ ? 0 : 1; }
  PlannerResult result() const override { return {{}, tuned()}; }
  TuneResult tuned() const;

 private:
  Job job_of(const TuneTrial& trial) const;

  std::vector<Job> candidates_;
  TuneOrder order_;
  SearchRun run_;
  std::unique_ptr<TuneSearch> search_;
  TuneTrial trial_;  // under way
  std::vector<bool> tried_;
  std::string reason_;
  bool finished_ = false;
};

}  // namespace deepgap
