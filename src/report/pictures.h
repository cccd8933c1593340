// The charts of a Workload: what is drawn, not how (chart.h).
#pragma once

#include "report/chart.h"
#include "report/view.h"

#include <string>
#include <vector>

namespace deepgap {

struct ChartGroup {
  std::string title;  // "Throughput against batch"
  std::string note;   // how to read it; may be empty
  Chart chart;
  bool own_lines = false;  // not the Lines of the others: it needs a legend of its own where they have no labels
};

std::vector<ChartGroup> pictures_of(const Workload& workload, const std::vector<ShownLine>& lines);

}  // namespace deepgap
