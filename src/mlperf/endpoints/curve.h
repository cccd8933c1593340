// The records of a Store that MLPerf Endpoints calls a curve: one system, one model, measured at several concurrencies.
#pragma once

#include "mlperf/endpoints/summary.h"

#include <deepgap/record.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct EndpointsPoint {
  Record record;  // without timings and series
  EndpointsSummary summary;
  std::string fault;  // why it cannot be a point; empty: it can
};

class EndpointsCurve {
 public:
  // Returns whether the Record is of a curve: token generation in scenario concurrency. Needs neither timings nor series.
  static bool wants(const Record& record);
  // Adds a Record with its timings and series. Of several at one concurrency the last one that can be a point stays.
  void add(Record record);
  bool empty() const { return points_.empty(); }
  // Throws Error{input} where the records are of several systems, models or settings, or where a concurrency has no usable record.
  void check() const;
  const std::map<int64_t, EndpointsPoint>& points() const { return points_; }
  double most_tokens_per_s() const;
  // "concurrency 8: the record is unstable: ...", for each that a reader should know of.
  std::vector<std::string> notes() const;

 private:
  std::map<int64_t, EndpointsPoint> points_;  // by concurrency
};

}  // namespace deepgap
