// A roofline as SVG text: slopes of memory and caches, ceilings of arithmetic, and work as dots between them. Logarithmic axes, every line
// and every large dot with its name beside it; what hovering shows is in <title> elements. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace deepgap {

struct RooflineSlope {
  std::string name;  // "DRAM"
  double bytes_per_s = 0;
};
struct RooflinePeak {
  std::string name;  // "fp16 wgmma"
  double flop_per_s = 0;
  bool faint = false;  // from a data sheet: dotted
};
struct RooflineDot {
  std::string name;
  double intensity = 0;  // FLOP a byte
  double flop_per_s = 0;
  double share = -1;  // share of the time, as the dot's area; negative: a small dot
  int style = 0;      // colour
  std::string tip;
  bool labelled = true;
  // Shows the same work by the bytes of nearer levels: rings at the dot's height, joined to it by a line. Name, FLOP per byte.
  std::vector<std::pair<std::string, double>> nearer = {};
};

struct RooflineChart {
  std::string describe;               // for those who cannot see it
  std::vector<RooflineSlope> slopes;  // slowest first: the roof of each ends at the highest peak
  std::vector<RooflinePeak> peaks;
  std::vector<RooflineDot> dots;
};

// Returns an empty text if there is no slope, no peak or no dot that can be drawn.
std::string roofline_svg(const RooflineChart& chart);

}  // namespace deepgap
