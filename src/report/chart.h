// A chart as SVG text: lines with markers and error bars over two axes. Colours and markers come from the style number of a line; colours
// themselves are classes of the page's style sheet, so that light and dark need no second chart. Works without a script: what hovering
// shows is in <title> elements. Pure functions.
#pragma once

#include "report/axis.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

struct ChartPoint {
  double x = 0, y = 0;
  std::optional<double> x_low, x_high, y_low, y_high;  // error bars
  bool hollow = false;                                 // unstable
  std::string tip;                                     // shown when pointed at
  std::string tag;                                     // written beside the marker
};

struct ChartLine {
  std::string label;   // written at its end where there is room; may be empty
  int style = 0;       // colour and marker
  bool faint = false;  // dotted, without markers, error bars and label: a companion of another line
  std::vector<ChartPoint> points;
  std::string engine = {}, precision = {};  // by which a reader filters; empty: of several, or none
};

struct ChartAxis {
  std::string title;  // with its unit
  Scale scale = Scale::linear;
  std::vector<double> wanted_ticks;
};

struct Chart {
  std::string describe;  // for those who cannot see it
  ChartAxis x, y;
  std::vector<ChartLine> lines;
};

// Returns an empty text when no line has a point that can be drawn (finite; positive on a logarithmic axis).
std::string chart_svg(const Chart& chart);
// Returns whether lines carry their labels at their ends: they are few and short. Otherwise a legend must show them.
bool has_end_labels(const Chart& chart);
// The markers of lines by style, each as an SVG path around its centre.
const std::array<std::string_view, 8>& marker_paths();
// A list of the lines' labels, each with its colour and marker.
std::string legend(const Chart& chart);
// <figure> with title, note, legend where the lines carry no labels, and the chart; empty where there is nothing to draw.
std::string chart_figure(const std::string& title, const std::string& note, const Chart& chart);

}  // namespace deepgap
