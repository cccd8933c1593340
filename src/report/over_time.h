// Shows what happened while a Point was measured: latency over time, and beside it what the probes read. Pure functions.
#pragma once

#include <deepgap/record.h>

#include "analysis/results.h"

#include <string>
#include <utility>
#include <vector>

namespace deepgap {

struct TimeLine {
  std::string label;
  std::vector<std::pair<double, double>> points;  // seconds after the steady window's begin, value
};
struct TimePicture {
  std::string title, axis;  // "Power", "Power (W)"
  std::vector<TimeLine> lines;
};
struct Track {
  std::string label;  // label of the Point
  std::vector<TimePicture> pictures;
};

// The Points that are shown: of each Workload the one with the highest throughput, then those of its other Lines, at most `most` in all.
std::vector<const PointSummary*> points_over_time(const Results& results, size_t most);

// Draws a Record with its timings and series; no charts where it has neither. At most some hundred points a line.
Track track_of(const Record& record, const std::string& label);

std::string over_time_section(const std::vector<Track>& tracks);

}  // namespace deepgap
