#include "report/forest.h"

#include "analysis/words.h"
#include "report/axis.h"
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr double left = 190, right = wide_right, top = 8, row_height = 26;
constexpr size_t longest_label = 28;

bool can_be_drawn(const ForestRow& row) { return std::isfinite(row.ratio) && row.ratio > 0; }
bool has_interval(const ForestRow& row) { return row.low && row.high && *row.low > 0 && std::isfinite(*row.high); }

// Maps the logarithm of a ratio to pixels; 1 is always on it.
struct ForestAxis {
  double least = 0, most = 0;
  explicit ForestAxis(const Forest& forest) {
    const auto take = [&](double ratio) {
      least = std::min(least, std::log(ratio));
      most = std::max(most, std::log(ratio));
    };
    take(1 + forest.margin);
    take(1 / (1 + forest.margin));
    for (const ForestRow& row : forest.rows) {
      if (!can_be_drawn(row)) continue;
      take(row.ratio);
      if (has_interval(row)) take(*row.low), take(*row.high);
    }
    const double room = std::max((most - least) * 0.06, 0.005);
    least -= room;
    most += room;
  }
  double at(double ratio) const { return left + (std::log(ratio) - least) / (most - least) * (right - left); }
};

// Round ratios, few enough to be read.
std::vector<double> ticks_of(const ForestAxis& axis) {
  std::vector<double> ticks;
  for (const double step : {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0}) {
    ticks.clear();
    for (double tick = std::ceil(std::exp(axis.least) / step) * step; tick <= std::exp(axis.most) && ticks.size() <= 9; tick += step) {
      if (tick > 0) ticks.push_back(tick);
    }
    if (ticks.size() <= 8) break;
  }
  return ticks;
}

std::string row_svg(const ForestRow& row, const ForestAxis& axis, double y) {
  std::string svg = fmt::format("<g><title>{}</title><text class=\"axis-title\" x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
                                html_escaped(row.tip), left - 12, y + 4, html_escaped(shortened(row.label, longest_label)));
  if (has_interval(row)) svg += fmt::format("<path class=\"bar\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", axis.at(*row.low), y, axis.at(*row.high));
  return svg + fmt::format("<path class=\"{}\" transform=\"translate({:.1f} {:.1f})\" d=\"M-5 -5H5V5H-5Z\"/></g>",
                           row.hollow ? "mark hollow" : "mark", axis.at(row.ratio), y);
}

}  // namespace

std::string forest_svg(const Forest& forest) {
  if (std::none_of(forest.rows.begin(), forest.rows.end(), can_be_drawn)) return {};
  const ForestAxis axis(forest);
  const double bottom = top + row_height * static_cast<double>(forest.rows.size());
  std::string svg = fmt::format("<svg class=\"chart forest\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", wide_width,
                                bottom + 42, html_escaped(forest.describe));
  if (forest.margin > 0) {
    const double from = axis.at(1 / (1 + forest.margin));
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"var(--grid)\"/>", from, top,
                       axis.at(1 + forest.margin) - from, bottom - top);
  }
  svg += "<g class=\"tick\" text-anchor=\"middle\">";
  for (const double tick : ticks_of(axis))
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}v5\"/><text x=\"{0:.1f}\" y=\"{2:.1f}\">{3}</text>", axis.at(tick), bottom, bottom + 18,
                       format_significant(tick));
  svg += fmt::format("</g><path class=\"axis\" d=\"M{:.0f} {:.1f}H{:.0f}M{:.1f} {:.0f}V{:.1f}\"/>", left, bottom, right, axis.at(1), top,
                     bottom);
  svg += fmt::format("<text class=\"axis-title\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text><g class=\"line s0\">",
                     (left + right) / 2, bottom + 36, html_escaped(forest.title));
  double y = top + row_height / 2;
  for (const ForestRow& row : forest.rows) {
    if (can_be_drawn(row)) svg += row_svg(row, axis, y);
    y += row_height;
  }
  return svg + "</g></svg>";
}

}  // namespace deepgap
