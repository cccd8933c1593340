// The part of a Plan that a Store has already: `--resume` leaves it out, and counts it as this run's.
#pragma once

#include "run/inspected_plan.h"
#include "run/progress.h"
#include "store/store.h"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace deepgap {

// False too where the device of either is not known: which GPU is here a run's parent does not ask.
bool is_of_another_device(const Record& record, const Facts& here);

struct FinishedRecords {
  std::set<JobId> jobs;
  std::map<std::string, double> seconds;  // what they took, by point_id
};

// The Store is only read. All outlive this.
class EarlierRecords {
 public:
  EarlierRecords(const Store& store, const Study& study, const RunSettings& settings, const InspectedPlan& plan, Progress& progress)
      : store_(store), study_(study), settings_(settings), plan_(plan), progress_(progress) {}

  // Returns those of the `planned` Jobs that need not be measured again: from this study alone if settings.own_study, and not those of
  // another device. `each` gets their Records, in the order of the Store. Reports which of them may not be what was meant.
  FinishedRecords finished(const std::set<JobId>& planned, const std::function<void(Record&&)>& each) const;

 private:
  bool is_of_another_study(const Record& record) const { return settings_.own_study && record.study != study_.name; }
  bool counts(const Record& record) const { return record.outcome != Outcome::interrupted && !is_of_another_study(record); }
  std::set<JobId> finished_of_study() const;
  void leave_out_other_devices(std::set<JobId>& finished) const;

  const Store& store_;
  const Study& study_;
  const RunSettings& settings_;
  const InspectedPlan& plan_;
  Progress& progress_;
};

}  // namespace deepgap
