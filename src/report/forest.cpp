#include "report/forest.h"

#include "analysis/aspects.h"
#include "analysis/lines.h"
#include "analysis/words.h"
#include "base/byte_text.h"
#include "base/text.h"
#include "report/axis.h"
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr double left = 200, right = wide_right, top = 8, line_height = 14, row_space = 12;
constexpr size_t widest_label = 28, widest_title = 60;  // characters in a line

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

bool can_be_read(const std::vector<double>& ticks, const ForestAxis& axis) {
  constexpr double narrowest = 36;  // as wide as the widest number
  for (size_t i = 1; i < ticks.size(); ++i)
    if (axis.at(ticks[i]) - axis.at(ticks[i - 1]) < narrowest) return false;
  return true;
}

// 1, 2, 5 and the like times every power of `base` between the ends.
std::vector<double> powers_of(double base, const std::vector<double>& factors, const ForestAxis& axis) {
  std::vector<double> ticks;
  const auto first = static_cast<int>(std::floor(axis.least / std::log(base))),
             last = static_cast<int>(std::floor(axis.most / std::log(base)));
  for (int power = first; power <= last; ++power) {
    for (const double factor : factors) {
      const double tick = factor * std::pow(base, power);
      if (std::log(tick) >= axis.least && std::log(tick) <= axis.most) ticks.push_back(tick);
    }
  }
  return ticks;
}

// Round ratios at equal steps, or where those stand too close at one end, as between 0.01 and 100, powers of ten.
std::vector<double> ticks_of(const ForestAxis& axis) {
  for (const double step : {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0}) {
    std::vector<double> ticks;
    for (double tick = std::ceil(std::exp(axis.least) / step) * step; tick <= std::exp(axis.most) && ticks.size() <= 9; tick += step) {
      if (tick > 0) ticks.push_back(tick);
    }
    if (ticks.size() <= 8 && ticks.size() >= 2 && can_be_read(ticks, axis)) return ticks;
  }
  for (const std::vector<double>& factors : {std::vector<double>{1, 2, 5}, {1, 3}, {1}}) {
    std::vector<double> ticks = powers_of(10, factors, axis);
    if (can_be_read(ticks, axis)) return ticks;
  }
  double base = 100;
  while (!can_be_read(powers_of(base, {1}, axis), axis)) base *= 10;
  return powers_of(base, {1}, axis);
}

// Parts of a label, such as "batch 8", which stay on one line where they fit on one; the words of a longer part.
std::vector<std::string> pieces_of(const std::string& label, size_t widest) {
  std::vector<std::string> pieces;
  std::string rest = label;
  while (!rest.empty()) {
    const size_t end = rest.find(label_separator, 1);
    const std::string part = trim(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end);
    if (count_characters(part) <= widest)
      pieces.push_back(part);
    else
      for (const std::string& word : split(part, ' ')) pieces.push_back(word);
  }
  return pieces;
}

// Breaks a text into lines between its parts and words, since what differs may be anywhere in it; a word longer than a line is broken too.
std::vector<std::string> lines_of(const std::string& text, size_t widest) {
  std::vector<std::string> lines(1);
  for (std::string word : pieces_of(text, widest)) {
    if (!lines.back().empty() && count_characters(lines.back()) + 1 + count_characters(word) > widest) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    while (count_characters(word) > widest) {
      size_t end = widest;
      while (!begins_character(word[end])) ++end;  // not within a character
      lines.back() = word.substr(0, end);
      lines.emplace_back();
      word.erase(0, end);
    }
    lines.back() += word;
  }
  return lines;
}

// The parts that all labels share are in the chart's title alone.
struct Labels {
  std::vector<std::vector<std::string>> lines;  // one label of several lines for each row
  std::string shared;
};

Labels labels_of(const Forest& forest) {
  std::vector<std::string> whole;
  for (const ForestRow& row : forest.rows) whole.push_back(row.label);
  Labels labels;
  for (const std::string& label : labels_apart(whole)) labels.lines.push_back(lines_of(label, widest_label));
  if (whole.size() > 1) labels.shared = shared_label(whole);
  return labels;
}

double height_of(const std::vector<std::string>& label) { return line_height * static_cast<double>(label.size()) + row_space; }

std::string row_svg(const ForestRow& row, const std::vector<std::string>& label, const ForestAxis& axis, double y) {
  std::string svg = fmt::format("<g><title>{}</title><text class=\"axis-title\" y=\"{:.1f}\" text-anchor=\"end\">", html_escaped(row.tip),
                                y + 4 - line_height * static_cast<double>(label.size() - 1) / 2);
  for (size_t i = 0; i < label.size(); ++i)
    svg += fmt::format("<tspan x=\"{:.0f}\" dy=\"{:.0f}\">{}</tspan>", left - 12, i == 0 ? 0 : line_height, html_escaped(label[i]));
  svg += "</text>";
  if (has_interval(row)) svg += fmt::format("<path class=\"bar\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", axis.at(*row.low), y, axis.at(*row.high));
  return svg + fmt::format("<path class=\"{}\" transform=\"translate({:.1f} {:.1f})\" d=\"M-5 -5H5V5H-5Z\"/></g>",
                           row.hollow ? "mark hollow" : "mark", axis.at(row.ratio), y);
}

}  // namespace

std::string forest_svg(const Forest& forest) {
  if (std::none_of(forest.rows.begin(), forest.rows.end(), can_be_drawn)) return {};
  const ForestAxis axis(forest);
  const Labels labels = labels_of(forest);
  const std::vector<std::string> title = lines_of(forest.title, widest_title);
  const double title_height = line_height * static_cast<double>(title.size());
  double bottom = top;
  for (const auto& label : labels.lines) bottom += height_of(label);
  std::string svg = fmt::format("<svg class=\"chart forest\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", wide_width,
                                bottom + title_height + (labels.shared.empty() ? 28 : 44), html_escaped(forest.describe));
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
  for (size_t i = 0; i < title.size(); ++i)
    svg += fmt::format("<text class=\"axis-title\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", (left + right) / 2,
                       bottom + 36 + line_height * static_cast<double>(i), html_escaped(title[i]));
  if (!labels.shared.empty())
    svg += fmt::format("<text class=\"axis-title\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">all rows: {}</text>", wide_width / 2,
                       bottom + title_height + 38, html_escaped(labels.shared));
  svg += "<g class=\"line s0\">";
  double y = top;
  for (size_t i = 0; i < forest.rows.size(); ++i) {
    const double height = height_of(labels.lines[i]);
    if (can_be_drawn(forest.rows[i])) svg += row_svg(forest.rows[i], labels.lines[i], axis, y + height / 2);
    y += height;
  }
  return svg + "</g></svg>";
}

}  // namespace deepgap
