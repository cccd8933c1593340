// A forest plot as SVG text: ratios to one thing with their intervals, a row each, on a logarithmic axis around 1; the shaded band is what
// counts as the same. Works without a script. Pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct ForestRow {
  std::string label;
  double ratio = 1;                 // above 0
  std::optional<double> low, high;  // above 0
  bool hollow = false;              // not decided
  std::string tip;                  // shown when pointed at
};

struct Forest {
  std::string describe;  // for those who cannot see it
  std::string title;     // title of the axis
  double margin = 0;     // largest difference that counts as "the same"; 0: there is none
  std::vector<ForestRow> rows;
};

// Returns an empty text if no row can be drawn.
std::string forest_svg(const Forest& forest);

}  // namespace deepgap
