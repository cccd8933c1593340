// Trends: how a metric of a Point went from run to run on one machine, and where it changed (stats/e_divisive.h). Series of different
// machines or devices are never joined. A control is a Point that was measured in the same runs and should not have changed: values are
// divided by it, so that what happened to the machine falls out. One thread; plain values.
#pragma once

#include "record/identity.h"

#include <deepgap/record.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace deepgap {

struct TrendRun {
  int64_t started_unix_ns = 0;
  std::string version;  // what the fact that was asked for says
  double value = 0;     // geometric mean of the run's repeats; divided by the control's if any
};

struct TrendChange {
  size_t at = 0;  // the first run behind it
  double p_value = 1;
  double before = 0, after = 0;  // geometric means up to the neighbouring changes
};

struct TrendSeries {
  Point point;
  std::string device, machine;
  std::vector<TrendRun> runs;  // in order of time
  std::vector<TrendChange> changes;
};

class TrendCollector {
 public:
  // `version`: a fact of the environment, such as deepgap.git, that is shown beside the dates.
  TrendCollector(std::string metric, std::string version) : metric_(std::move(metric)), version_(std::move(version)) {}

  void add(const Record& record);          // those without the metric are left out
  void add_control(const Record& record);  // likewise
  // Returns series in the order of the Points. With controls, runs without one are left out.
  std::vector<TrendSeries> series() const;
  size_t controls() const { return controls_.size(); }  // runs that have one

 private:
  struct Values {
    int64_t started_unix_ns = 0;
    std::string version;
    double log_sum = 0;
    int64_t count = 0;
  };
  bool take(const Record& record, Values& values) const;

  std::string metric_, version_;
  std::map<std::tuple<PointOnDevice, std::string>, std::map<std::string, Values>> series_;  // by machine; runs by their id
  std::map<std::tuple<std::string, std::string>, Values> controls_;                         // by machine and run
};

}  // namespace deepgap
