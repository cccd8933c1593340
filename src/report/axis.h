// An axis of a chart: values to pixels, and where its ticks are.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

enum class Scale { linear, around, log2, log10 };  // linear starts at 0, around near the least value

struct Tick {
  double value = 0;
  double at = 0;  // pixels
  std::string text;
};

class DrawnAxis {
 public:
  // Values from `least` to `most` (positive for logarithms) fall between the pixels `from` and `to`, with room to spare. `spacing`: how
  // far apart ticks are at least. For log2, ticks are at `wanted` where they fit, else at powers of two.
  DrawnAxis(Scale scale, double least, double most, double from, double to, double spacing, const std::vector<double>& wanted = {});

  double at(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  double transform(double value) const;
  void add_tick(double value);
  void linear_ticks(double spacing);
  void around_ticks(double spacing);
  void decade_ticks(double spacing);
  void power_ticks(double spacing, const std::vector<double>& wanted);

  Scale scale_;
  double low_ = 0, high_ = 1;  // transformed
  double from_, to_;
  std::vector<Tick> ticks_;
};

// A chart of class "wide", which goes over the page: its size, and the frame in it.
inline constexpr double wide_width = 600, wide_right = 588, wide_top = 26, wide_bottom = 196;

// The lines of a chart's grid at the ticks of its vertical axis, with their numbers to the left.
std::string grid_svg(const DrawnAxis& y, double left, double right);
// The ticks of a chart's horizontal axis and its line, those beyond `right` left out, with the numbers that do not overlap the one before.
std::string ticks_below_svg(const DrawnAxis& x, double left, double right, double bottom);

// Logarithmic where values spread by more than `spread`, so that small ones can be seen; else linear from 0.
Scale scale_for(double least, double most, double spread);

}  // namespace deepgap
