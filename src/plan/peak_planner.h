// PeakPlanner: a Planner whose Points differ in load alone and are chosen by a PeakSearch from the Records so far. Several Jobs that it is
// given are searched one after the other. Used by the parent's one thread.
#pragma once

#include "plan/peak_search.h"
#include "plan/planner.h"
#include "record/load_axis.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

struct PeakOrder {
  LoadAxis axis;
  PeakSettings settings;
  std::string bound;          // "p99=15ms"
  double limit_ms = 0;        // of it
  std::string percentile_id;  // Metric of the bounded percentile
};

struct FoundPeak {
  Point point;  // the Job's without its load
  PeakResult result;
  std::string reason;  // why nothing was found, from the last Record: "crashed: ...", "p99 latency is ..."
};

// `searched` Jobs are Points at which a search begins. `time_is_up` is asked before each run; `announce` hears of
// each Job, and of the one that its search began from, before `group_key` is asked about it.
class PeakPlanner final : public Planner {
 public:
  PeakPlanner(std::vector<Job> searched, PeakOrder order, std::function<std::string(const Job&)> group_key,
              std::function<bool()> time_is_up, std::function<void(const Job& from, const Job& job)> announce);

  Batch next() override;  // one Job, which done() must answer before the next is asked for
  void done(const Record& record) override;
  size_t remaining() const override { return searched_.size() - found_.size(); }
  const std::vector<FoundPeak>& found() const { return found_; }

 private:
  Job job_at(double load) const;
  void finish(const std::string& reason);

  std::vector<Job> searched_;
  PeakOrder order_;
  std::function<std::string(const Job&)> group_key_;
  std::function<bool()> time_is_up_;
  std::function<void(const Job&, const Job&)> announce_;
  std::unique_ptr<PeakSearch> search_;
  std::vector<FoundPeak> found_;
  std::string last_reason_;
  int runs_ = 0;  // of the search under way
};

// "47.1 queries a second hold p99=100ms: 5 of 5 runs (at least half of all do, with 97 % confidence); 48.0, one step above: 0 of 5"
std::string peak_text(const FoundPeak& found, const PeakOrder& order);

}  // namespace deepgap
