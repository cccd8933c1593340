#include "report/roofline_chart.h"

#include "base/quantity.h"
#include "report/axis.h"
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr double width = 640, height = 420, left = 66, right = 622, top = 18, bottom = 372;
constexpr double largest_radius = 34, small_radius = 3.2;
constexpr double label_height = 14;

struct Range {
  double least = 1e300, most = 0;
  void add(double value) {
    if (!std::isfinite(value) || value <= 0) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

bool can_be_drawn(const RooflineDot& dot) {
  return std::isfinite(dot.intensity) && dot.intensity > 0 && std::isfinite(dot.flop_per_s) && dot.flop_per_s > 0;
}

std::string text(double x, double y, const char* anchor, const char* style, const std::string& words) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", style, x, y, anchor, html_escaped(words));
}

// Labels that would lie over one another are moved down or left out.
class Labels {
 public:
  bool place(double x, double& y, size_t letters, bool to_the_left) {
    const double wide = 6.4 * static_cast<double>(letters);
    const double from = to_the_left ? x - wide : x, to = to_the_left ? x : x + wide;
    for (const double shift : {0.0, label_height, -label_height, 2 * label_height, -2 * label_height}) {
      const double here = y + shift;
      if (here < top + 8 || here > bottom - 4) continue;
      const bool free = std::none_of(taken_.begin(), taken_.end(), [&](const Box& box) {
        return from < box.to && box.from < to && std::abs(here - box.y) < label_height - 1;
      });
      if (!free) continue;
      taken_.push_back({from, to, here});
      y = here;
      return true;
    }
    return false;
  }

 private:
  struct Box {
    double from, to, y;
  };
  std::vector<Box> taken_;
};

class Drawing {
 public:
  explicit Drawing(const RooflineChart& chart) : chart_(chart), peak_(highest_peak(chart)), x_(make_x(chart)), y_(make_y(chart)) {}

  std::string svg() {
    std::string out = fmt::format("<svg class=\"chart roofline\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", width, height,
                                  html_escaped(chart_.describe));
    out += ticks();
    for (const RooflineSlope& slope : chart_.slopes) out += draw(slope);
    for (const RooflinePeak& peak : chart_.peaks) out += draw(peak);
    std::vector<const RooflineDot*> order;
    for (const RooflineDot& dot : chart_.dots)
      if (can_be_drawn(dot)) order.push_back(&dot);
    // Large ones first, so that none hides a smaller one.
    std::stable_sort(order.begin(), order.end(), [](const RooflineDot* a, const RooflineDot* b) { return a->share > b->share; });
    for (const RooflineDot* dot : order) out += circle(*dot);
    for (const RooflineDot* dot : order) out += rings(*dot);
    for (const RooflineDot* dot : order)
      if (dot->labelled) out += label(*dot);
    return out + "</svg>";
  }

 private:
  static double highest_peak(const RooflineChart& chart) {
    double most = 0;
    for (const RooflinePeak& peak : chart.peaks)
      if (!peak.faint) most = std::max(most, peak.flop_per_s);
    return most;
  }
  DrawnAxis make_x(const RooflineChart& chart) const {
    Range range;
    for (const RooflineDot& dot : chart.dots) {
      if (!can_be_drawn(dot)) continue;
      range.add(dot.intensity);
      for (const auto& [level, intensity] : dot.nearer) range.add(intensity);
    }
    // The ridges too: where a slope meets the highest ceiling.
    for (const RooflineSlope& slope : chart.slopes) range.add(peak_ / slope.bytes_per_s);
    return {Scale::log10, range.least / 2, range.most * 3, left, right, 60};
  }
  DrawnAxis make_y(const RooflineChart& chart) const {
    Range range;
    for (const RooflineDot& dot : chart.dots)
      if (can_be_drawn(dot)) range.add(dot.flop_per_s);
    for (const RooflinePeak& peak : chart.peaks) range.add(peak.flop_per_s);
    return {Scale::log10, range.least / 2, range.most * 1.6, bottom, top, 40};
  }

  std::string ticks() const {
    std::string out = "<g class=\"grid\">";
    for (const Tick& tick : x_.ticks()) out += fmt::format("<path d=\"M{:.1f} {}V{}\"/>", tick.at, top, bottom);
    for (const Tick& tick : y_.ticks()) out += fmt::format("<path d=\"M{} {:.1f}H{}\"/>", left, tick.at, right);
    out += "</g><g class=\"tick\">";
    for (const Tick& tick : x_.ticks()) out += text(tick.at, bottom + 18, "middle", "", tick.text);
    for (const Tick& tick : y_.ticks()) out += text(left - 7, tick.at + 4, "end", "", rate_text(tick.value));
    out += "</g>";
    out += text((left + right) / 2, height - 12, "middle", "axis-title", "FLOP a byte");
    return out +
           fmt::format("<text class=\"axis-title\" transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">FLOP/s</text>",
                       (top + bottom) / 2);
  }
  static std::string rate_text(double value) {
    if (value >= 1e15) return fmt::format("{:g} P", value / 1e15);
    if (value >= 1e12) return fmt::format("{:g} T", value / 1e12);
    if (value >= 1e9) return fmt::format("{:g} G", value / 1e9);
    return fmt::format("{:g} M", value / 1e6);
  }

  // Within the chart: from where it enters to its ridge.
  std::string draw(const RooflineSlope& slope) {
    const auto inside = [&](double at) { return at >= left - 0.1 && at <= right + 0.1; };
    const double ridge = peak_ / slope.bytes_per_s;
    constexpr int steps = 1050;  // steps by 2 %: nine powers of ten
    double from_x = left, from_y = bottom;
    for (int i = 0; i < steps; ++i) {
      const double intensity = ridge * std::pow(1.02, -i);
      if (!inside(x_.at(intensity)) || y_.at(intensity * slope.bytes_per_s) > bottom) break;
      from_x = x_.at(intensity);
      from_y = y_.at(intensity * slope.bytes_per_s);
    }
    const double to_x = std::min(x_.at(ridge), right), to_y = y_.at(peak_);
    std::string out = fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", from_x, from_y, to_x, to_y);
    const double angle = std::atan2(to_y - from_y, to_x - from_x) * 180 / M_PI;
    const double at = 0.05 + 0.08 * static_cast<double>(&slope - chart_.slopes.data());
    const double x = from_x + at * (to_x - from_x), y = from_y + at * (to_y - from_y) - 5;
    return out + fmt::format("<text class=\"roof-name\" transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\">{} {}</text>", x, y, angle,
                             html_escaped(slope.name), bandwidth_text(slope.bytes_per_s));
  }
  static std::string bandwidth_text(double value) {
    return value >= 1e12 ? fmt::format("{:.2f} TB/s", value / 1e12) : short_text(value / 1e9, 3) + " GB/s";
  }
  std::string draw(const RooflinePeak& peak) {
    double ridge = 1e300;
    for (const RooflineSlope& slope : chart_.slopes) ridge = std::min(ridge, peak.flop_per_s / slope.bytes_per_s);
    const double from = std::clamp(x_.at(ridge), left, right), y = y_.at(peak.flop_per_s);
    std::string out = fmt::format("<path class=\"roof{}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", peak.faint ? " faint" : "", from, y, right);
    double label_y = y - 5;
    const std::string words = fmt::format("{} {}FLOP/s", peak.name, short_rate(peak.flop_per_s));
    if (labels_.place(right, label_y, words.size(), true)) out += text(right, label_y, "end", "roof-name", words);
    return out;
  }
  static std::string short_rate(double value) {
    return value >= 1e12 ? short_text(value / 1e12, 3) + " T" : short_text(value / 1e9, 3) + " G";
  }
  static double radius(const RooflineDot& dot) {
    return dot.share < 0 ? small_radius : std::max(small_radius, largest_radius * std::sqrt(std::min(dot.share, 1.0)));
  }
  std::string circle(const RooflineDot& dot) const {
    return fmt::format("<circle class=\"dot s{}{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"><title>{}</title></circle>", dot.style % 8,
                       dot.share < 0 ? " small" : "", x_.at(dot.intensity), y_.at(dot.flop_per_s), radius(dot), html_escaped(dot.tip));
  }
  std::string rings(const RooflineDot& dot) {
    std::string out;
    const double y = y_.at(dot.flop_per_s);
    for (const auto& [level, intensity] : dot.nearer) {
      if (!std::isfinite(intensity) || intensity <= 0) continue;
      const double x = x_.at(intensity);
      out += fmt::format("<path class=\"reach s{}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", dot.style % 8, x_.at(dot.intensity), y, x);
      out += fmt::format(
          "<circle class=\"ring s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"><title>{} by {}: {:.2f} FLOP a byte</title></circle>",
          dot.style % 8, x, y, small_radius + 0.6, html_escaped(dot.name), html_escaped(level), intensity);
      double label_y = y - 7;
      if (dot.labelled && labels_.place(x, label_y, level.size(), false)) out += text(x, label_y, "start", "roof-name", level);
    }
    return out;
  }
  std::string label(const RooflineDot& dot) {
    const double r = radius(dot), x = x_.at(dot.intensity);
    double y = y_.at(dot.flop_per_s) + 4;
    const bool to_the_left = x > right - 130;
    const double at = to_the_left ? x - r - 4 : x + r + 4;
    if (!labels_.place(at, y, dot.name.size(), to_the_left)) return {};
    return text(at, y, to_the_left ? "end" : "start", "tag", dot.name);
  }

  const RooflineChart& chart_;
  double peak_;
  DrawnAxis x_, y_;
  Labels labels_;
};

}  // namespace

std::string roofline_svg(const RooflineChart& chart) {
  const bool any_slope = std::any_of(chart.slopes.begin(), chart.slopes.end(), [](const auto& slope) { return slope.bytes_per_s > 0; });
  const bool any_peak =
      std::any_of(chart.peaks.begin(), chart.peaks.end(), [](const auto& peak) { return !peak.faint && peak.flop_per_s > 0; });
  if (!any_slope || !any_peak || std::none_of(chart.dots.begin(), chart.dots.end(), can_be_drawn)) return {};
  return Drawing(chart).svg();
}

}  // namespace deepgap
