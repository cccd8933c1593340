// Takes the Records of a run: completes them, saves them, shows and counts them. Main thread.
#pragma once

#include "analysis/point_summary.h"
#include "run/open_store.h"
#include "run/run_context.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace deepgap {

class RecordSink {
 public:
  explicit RecordSink(RunContext& run) : run_(run) {}  // which outlives this

  // Opens the Store of the settings. Throws as Store does.
  const Store& open();
  // Notes the devices that another run has too.
  void shares(const std::vector<std::string>& devices) { shared_ = devices; }

  // Adds what the inspection knows to a Record that no worker completes.
  void fill(const Job& job, Record& record) const;
  // Saves what needs no worker, but for `finished`: what the inspection refused, or the Study skips.
  void save_without_worker(const std::set<JobId>& finished);
  // Saves a Record, those of a set (tenants, arms) together when the last has come: after a kill a set is measured again as a whole.
  void save(const Job& job, Record record);
  // Counts a Record that is in the Store already.
  void count(const Record& record);
  std::vector<PointSummary> summaries() const { return collector_.summaries(); }

 private:
  Record without_worker(const Job& job) const;
  void complete(Record& record) const;
  void append();
  void saved(const Job& job, Record record);

  RunContext& run_;
  std::optional<OpenStore> store_;
  std::vector<std::string> shared_;
  std::set<std::string> announced_;  // Points already reported as refused or skipped
  std::vector<const Job*> jobs_;     // Jobs of a set whose last Record has not come
  std::vector<Record> records_;      // their Records so far, which are saved together
  PointCollector collector_;
};

}  // namespace deepgap
