// `deepgap trend --output p.html`: every series of runs as a chart with its changes marked. Pure.
#pragma once

#include "analysis/trend/trend.h"

#include <string>
#include <vector>

namespace deepgap {

struct ShownTrend {
  const TrendSeries* series = nullptr;
  std::string label, where;        // names of the Point and the machine
  std::vector<std::string> words;  // what was found, a line each
};
struct TrendPage {
  std::string metric, unit;
  std::string control;  // whose values they are divided by; empty: none
  std::string counts;   // "2 of 14 series changed"
  std::vector<ShownTrend> shown;
};
std::string trend_page(const TrendPage& page);

// One series: a dot for each run, a level up to each change, a line where it is.
std::string trend_svg(const TrendSeries& series, const std::string& axis, const std::string& describe);

}  // namespace deepgap
