// What MLPerf Endpoints' client reports of one point in result_summary.json, computed over the steady window of a Record. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <string>

namespace deepgap {

struct EndpointsSummary {
  std::string json;         // result_summary.json
  double tokens_per_s = 0;  // output tokens over the length of the window
  double issue_span_s = 0;  // from the first request that was sent to the last
  int64_t requests = 0;     // completed and failed
};

// Returns what the Record lacks for a summary, "it has no steady window"; empty: nothing. It has its timings and series.
// `clients` is the concurrency that it claims.
std::string endpoints_gap(const Record& record, int64_t clients);
// REQUIRES: endpoints_gap() is empty.
EndpointsSummary endpoints_summary(const Record& record);

}  // namespace deepgap
