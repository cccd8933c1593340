// `deepgap compare --output p.html`: two sides point by point as a forest plot and a table. Pure.
#pragma once

#include "report/forest.h"

#include <string>
#include <vector>

namespace deepgap {

struct ComparedPoint {
  ForestRow row;  // the second side over the first
  std::string a, b, ratio, verdict;
};

struct ComparedStores {
  std::string metric;
  std::string a, b;  // the sides' names
  double margin = 0;
  std::string counts;  // "3 slower, 12 same within 2 %"
  std::vector<ComparedPoint> points;
  std::vector<std::string> notes;
};
std::string compare_page(const ComparedStores& compared);

}  // namespace deepgap
