#include "report/axis.h"

#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// 1, 2 or 5 times a power of ten, at least `step`.
double nice_step(double step) {
  const double unit = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * unit >= step * 0.999999) return factor * unit;
  }
  return 10 * unit;
}

std::string tick_text(double value) {
  // 0.30000000000000004 is 0.3; 12,000 stays whole.
  std::string text = format_significant(value, 3);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

DrawnAxis::DrawnAxis(Scale scale, double least, double most, double from, double to, double spacing, const std::vector<double>& wanted)
    : scale_(scale), from_(from), to_(to) {
  if (scale == Scale::linear) {
    low_ = std::min(0.0, least);
    high_ = most > low_ ? low_ + (most - low_) * 1.1 : low_ + 1;
    linear_ticks(spacing);
    return;
  }
  if (scale == Scale::around) {
    const double margin = std::max((most - least) * 0.08, std::max(std::abs(most) * 1e-3, 1e-12));
    low_ = least - margin;
    high_ = most + margin;
    around_ticks(spacing);
    return;
  }
  low_ = transform(least);
  high_ = transform(most);
  const double room = std::max((high_ - low_) * 0.05, scale == Scale::log2 ? 0.25 : 0.06);
  low_ -= room;
  high_ += room;
  if (scale == Scale::log2) {
    power_ticks(spacing, wanted);
  } else {
    decade_ticks(spacing);
  }
}

double DrawnAxis::transform(double value) const {
  if (scale_ == Scale::log2) return std::log2(value);
  return scale_ == Scale::log10 ? std::log10(value) : value;
}

double DrawnAxis::at(double value) const { return from_ + (transform(value) - low_) / (high_ - low_) * (to_ - from_); }

void DrawnAxis::add_tick(double value) { ticks_.push_back({value, at(value), tick_text(value)}); }

void DrawnAxis::linear_ticks(double spacing) {
  const double step = nice_step((high_ - low_) * spacing / std::abs(to_ - from_));
  for (int i = static_cast<int>(std::ceil(low_ / step)); i * step <= high_; ++i) add_tick(i * step);
}

// Uses as many decimals as it takes for neighbouring ticks to differ.
void DrawnAxis::around_ticks(double spacing) {
  const double step = nice_step((high_ - low_) * spacing / std::abs(to_ - from_));
  const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
  for (double tick = std::ceil(low_ / step); tick * step <= high_; ++tick)
    ticks_.push_back({tick * step, at(tick * step), fmt::format("{:.{}f}", tick * step + 0.0, decimals)});
}

void DrawnAxis::decade_ticks(double spacing) {
  const double per_decade = std::abs(to_ - from_) / (high_ - low_);
  // The narrowest gaps of 1, 2, 5, 10 are 0.30 decades, of 1, 3, 10 0.48.
  std::vector<double> factors{1};
  if (per_decade * 0.3 >= spacing) {
    factors = {1, 2, 5};
  } else if (per_decade * 0.47 >= spacing) {
    factors = {1, 3};
  }
  const int every = std::max(1, static_cast<int>(std::ceil(spacing / per_decade)));
  for (int decade = static_cast<int>(std::floor(low_)); decade <= high_; ++decade) {
    if (decade % every != 0) continue;
    for (const double factor : factors) {
      const double value = factor * std::pow(10.0, decade);
      if (transform(value) >= low_ && transform(value) <= high_) add_tick(value);
    }
  }
  if (ticks_.size() >= 2) return;
  // Less than a decade between the ends: plain numbers do better.
  ticks_.clear();
  const double first = std::pow(10.0, low_), last = std::pow(10.0, high_);
  const double step = nice_step((last - first) * spacing / std::abs(to_ - from_));
  double value = std::ceil(first / step) * step;
  while (value <= last) {
    add_tick(value);
    value += step;
  }
}

void DrawnAxis::power_ticks(double spacing, const std::vector<double>& wanted) {
  std::vector<double> sorted = wanted;
  std::sort(sorted.begin(), sorted.end());
  bool fits = !sorted.empty();
  for (size_t i = 1; i < sorted.size(); ++i) fits = fits && std::abs(at(sorted[i]) - at(sorted[i - 1])) >= spacing;
  if (fits) {
    for (const double value : sorted) add_tick(value);
    return;
  }
  const double per_octave = std::abs(to_ - from_) / (high_ - low_);
  const int every = std::max(1, static_cast<int>(std::ceil(spacing / per_octave)));
  for (int power = static_cast<int>(std::ceil(low_)); power <= high_; ++power) {
    if (power % every == 0) add_tick(std::exp2(power));
  }
}

std::string grid_svg(const DrawnAxis& y, double left, double right) {
  std::string lines = "<g class=\"grid\">", numbers = "<g class=\"tick\" text-anchor=\"end\">";
  for (const Tick& tick : y.ticks()) {
    lines += fmt::format("<path d=\"M{:.0f} {:.1f}H{:.1f}\"/>", left, tick.at, right);
    numbers += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\">{}</text>", left - 6, tick.at + 4, tick.text);
  }
  return lines + "</g>" + numbers + "</g>";
}

std::string ticks_below_svg(const DrawnAxis& x, double left, double right, double bottom) {
  std::string svg = "<g class=\"tick\" text-anchor=\"middle\">";
  double taken = left - 100;  // where the last number ends
  for (const Tick& tick : x.ticks()) {
    if (tick.at > right) continue;
    svg += fmt::format("<path d=\"M{:.1f} {:.0f}v4\"/>", tick.at, bottom);
    constexpr double character = 7, between = 5;
    const double half = character * static_cast<double>(tick.text.size()) / 2;
    if (tick.at - half < taken + between) continue;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", tick.at, bottom + 16, tick.text);
    taken = tick.at + half;
  }
  return svg + fmt::format("</g><path class=\"axis\" d=\"M{:.0f} {:.0f}H{:.1f}\"/>", left, bottom, right);
}

Scale scale_for(double least, double most, double spread) { return least > 0 && most > spread * least ? Scale::log10 : Scale::linear; }

}  // namespace deepgap
