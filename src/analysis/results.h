// Results: a Store as findings and reports see it: Points, the machines they ran on, when, and how many Records. Whoever reads a Store
// adds its Records one by one and drops them. Plain values.
#pragma once

#include "analysis/point_summary.h"

#include <deepgap/record.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace deepgap {

// The values of many Records under one key. Distinct texts are kept up to a number and then only counted; numbers have a range too.
struct FactValues {
  std::map<std::string, int64_t> counts;  // by text as format_fact writes it
  int64_t others = 0;                     // Records with a text beyond the ones kept
  std::optional<double> least, most;      // where values are numbers
};
using FactTable = std::map<std::string, FactValues>;

// Returns the value of a key that is the same in every Record; empty when it is missing or has several.
std::string only_value(const FactTable& table, const std::string& key);

struct Results {
  std::vector<PointSummary> points;
  FactTable environment;  // facts about the machine
  FactTable facts;        // facts about the runs: probes, warnings, CPUs used
  int64_t records = 0;
  std::set<std::string> runs, studies;
  int64_t first_started_unix_ns = 0, last_started_unix_ns = 0;  // 0: no Record has a time
  std::string currency;                                         // currency of the points' costs; empty: no prices were given
  std::vector<std::string> price_notes;                         // what the prices lack, a line each (cost/cost.h)
};

class ResultsCollector {
 public:
  void add(const Record& record);
  Results results() const;

 private:
  PointCollector points_;
  Results results_;  // all but the points
  Facts last_environment_;
  int64_t same_environment_ = 0;  // Records that had the last one and are not yet in the table
};

}  // namespace deepgap
