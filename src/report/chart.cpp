#include "report/chart.h"

#include "base/byte_text.h"
#include "report/html.h"
#include "report/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace deepgap {
namespace {

constexpr double width = 400, height = 290;
constexpr double least_left = 50, top = 30, bottom = height - 42;
constexpr double digit_width = 7.4;   // width of a digit beside an axis
constexpr double label_width = 7.3;   // width of a character at the labels' size, on average
constexpr size_t longest_label = 19;  // characters

// Shapes of about equal area within 4.5 of the centre; plus and cross are drawn as lines.
constexpr std::array<std::string_view, palette_size> markers{
    "M-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0 -7.6 0z",
    "M-3.4 -3.4h6.8v6.8h-6.8z",
    "M0 -4.6l4.2 7.4h-8.4z",
    "M0 -4.8l4.4 4.8l-4.4 4.8l-4.4 -4.8z",
    "M0 4.6l4.2 -7.4h-8.4z",
    "M-4.4 -1.4h3v-3h2.8v3h3v2.8h-3v3h-2.8v-3h-3z",
    "M-4.4 0l2.2 -3.9h4.4l2.2 3.9l-2.2 3.9h-4.4z",
    "M0 -4.8l1.4 3.2l3.4 .4l-2.5 2.3l.7 3.4l-3 -1.7l-3 1.7l.7 -3.4l-2.5 -2.3l3.4 -.4z"};

int style_index(int style) { return style % static_cast<int>(palette_size); }

struct Range {
  double least = INFINITY, most = -INFINITY;
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

std::string_view name_of(Scale scale) { return scale == Scale::linear ? "linear" : scale == Scale::log2 ? "log2" : "log10"; }

// Returns what a script draws the point from: x, its interval, y, its interval; empty where there is none.
std::string values_text(const ChartPoint& point) {
  const auto end = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : std::string();
  };
  return fmt::format("{:.6g} {} {} {:.6g} {} {}", point.x, end(point.x_low), end(point.x_high), point.y, end(point.y_low),
                     end(point.y_high));
}

bool is_logarithmic(Scale scale) { return scale == Scale::log2 || scale == Scale::log10; }
bool drawable(double value, Scale scale) { return std::isfinite(value) && (!is_logarithmic(scale) || value > 0); }

// Keeps what can be drawn; an error bar that reaches beyond a logarithmic axis ends at a third of its value.
std::vector<ChartLine> drawable_lines(const Chart& chart) {
  std::vector<ChartLine> lines;
  for (ChartLine line : chart.lines) {
    auto& points = line.points;
    points.erase(std::remove_if(points.begin(), points.end(),
                                [&](const ChartPoint& p) { return !drawable(p.x, chart.x.scale) || !drawable(p.y, chart.y.scale); }),
                 points.end());
    for (ChartPoint& p : points) {
      if (p.y_low && (chart.y.scale != Scale::linear || p.y >= 0))
        p.y_low = std::max(*p.y_low, chart.y.scale == Scale::linear ? 0 : p.y / 3);
      if (p.x_low && (chart.x.scale != Scale::linear || p.x >= 0))
        p.x_low = std::max(*p.x_low, chart.x.scale == Scale::linear ? 0 : p.x / 3);
    }
    if (!points.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

// An interval may be so wide (two repeats: t = 12.7) that it would squeeze everything else; the view follows the values and at most
// half their size beyond. Bars are cut at the frame.
void add_bar(Range& range, double value, const std::optional<double>& end) {
  range.add(value);
  const double half = std::abs(value) / 2;
  if (end && std::isfinite(*end)) range.add(std::clamp(*end, value - half, value + half));
}

class Drawing {
 public:
  Drawing(const Chart& chart, std::vector<ChartLine> lines)
      : chart_(chart),
        lines_(std::move(lines)),
        labelled_(has_end_labels(chart)),
        right_(width - right_margin()),
        y_(make_axis(chart.y, true, bottom, top, 30)),
        left_(left_margin()),
        x_(make_axis(chart.x, false, left_, right_, chart.x.scale == Scale::log2 ? 26 : 38)) {}

  std::string svg() {
    put("<svg class=\"chart\" data-x=\"{}\" data-y=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", name_of(chart_.x.scale),
        name_of(chart_.y.scale), width, height, html_escaped(chart_.describe));
    draw_axes();
    for (const ChartLine& line : lines_) draw_line(line);
    draw_tags();
    draw_labels();
    put("</svg>");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }

  double right_margin() const {
    size_t longest = 0;
    if (labelled_) {
      for (const ChartLine& line : lines_) longest = std::max(longest, line.faint ? 0 : count_characters(line.label));
    }
    return 14 + (longest > 0 ? static_cast<double>(longest) * label_width : 0);
  }

  // Room for the longest number beside the axis.
  double left_margin() const {
    size_t longest = 0;
    for (const Tick& tick : y_.ticks()) longest = std::max(longest, tick.text.size());
    return std::max(least_left, 5.6 + static_cast<double>(longest) * digit_width);
  }

  DrawnAxis make_axis(const ChartAxis& axis, bool vertical, double from, double to, double spacing) const {
    Range range;
    for (const ChartLine& line : lines_) {
      for (const ChartPoint& p : line.points) {
        add_bar(range, vertical ? p.y : p.x, vertical ? p.y_low : p.x_low);
        add_bar(range, vertical ? p.y : p.x, vertical ? p.y_high : p.x_high);
      }
    }
    return {axis.scale, range.least, range.most, from, to, spacing, axis.wanted_ticks};
  }

  void draw_axes() {
    out_ += grid_svg(y_, left_, right_) + ticks_below_svg(x_, left_, right_, bottom);
    put("<text class=\"axis-title\" x=\"2\" y=\"14\">{}</text>", html_escaped(chart_.y.title));
    put("<text class=\"axis-title\" x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>", (left_ + right_) / 2, height - 7,
        html_escaped(chart_.x.title));
  }

  void draw_line(const ChartLine& line) {
    put("<g class=\"line s{}{}\" data-label=\"{}\"", style_index(line.style), line.faint ? " faint" : "", html_escaped(line.label));
    if (!line.engine.empty()) put(" data-e=\"{}\"", html_escaped(line.engine));
    if (!line.precision.empty()) put(" data-p=\"{}\"", html_escaped(line.precision));
    put(">");
    if (line.points.size() > 1) {
      put("<path class=\"path\" d=\"");
      for (size_t i = 0; i < line.points.size(); ++i) {
        put("{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', x_.at(line.points[i].x), y_.at(line.points[i].y));
      }
      put("\"/>");
    }
    if (!line.faint || line.points.size() == 1) {
      for (const ChartPoint& point : line.points) draw_point(line, point);
    }
    put("</g>");
  }

  void draw_point(const ChartLine& line, const ChartPoint& point) {
    const double x = x_.at(point.x), y = y_.at(point.y);
    put("<g data-v=\"{}\">", values_text(point));
    if (!point.tip.empty()) put("<title>{}</title>", html_escaped(point.tip));
    draw_bars(point, x, y);
    put("<path class=\"{}\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\"/>", point.hollow ? "mark hollow" : "mark", x, y,
        markers[static_cast<size_t>(style_index(line.style))]);
    put("</g>");
  }

  // Tags come last and stand where they cover the fewest markers and other tags.
  void draw_tags() {
    std::vector<Place> taken;
    for (const ChartLine& line : lines_) {
      for (const ChartPoint& point : line.points)
        if (!line.faint) taken.push_back({x_.at(point.x), y_.at(point.y), 5, 5});
    }
    double last_x = -100, last_y = -100;  // a tag too near to the one before is left out
    for (const ChartLine& line : lines_) {
      for (const ChartPoint& point : line.points) {
        const double x = x_.at(point.x), y = y_.at(point.y);
        if (point.tag.empty() || std::hypot(x - last_x, y - last_y) <= 15) continue;
        last_x = x;
        last_y = y;
        taken.push_back(draw_tag(point.tag, x, y, taken));
      }
    }
  }

  // A rectangle by its centre and half its size.
  struct Place {
    double x, y, half_width, half_height;
    bool overlaps(const Place& other) const {
      return std::abs(x - other.x) < half_width + other.half_width && std::abs(y - other.y) < half_height + other.half_height;
    }
  };

  Place draw_tag(const std::string& tag, double x, double y, const std::vector<Place>& taken) {
    const double half_width = static_cast<double>(count_characters(tag)) * label_width / 2, half_height = 6, aside = half_width + 9;
    const std::pair<double, double> moves[] = {{0, -13},     {0, 13},       {aside, 0},  {-aside, 0},
                                               {aside, -13}, {-aside, -13}, {aside, 13}, {-aside, 13}};
    Place best{x, y, half_width, half_height};
    size_t fewest = SIZE_MAX;
    for (const auto& [dx, dy] : moves) {
      const Place place{x + dx, y + dy, half_width, half_height};
      const bool is_inside =
          place.x - half_width >= 0 && place.x + half_width <= width && place.y >= top - 4 && place.y <= bottom - half_height;
      const auto covered =
          static_cast<size_t>(std::count_if(taken.begin(), taken.end(), [&](const Place& other) { return place.overlaps(other); }));
      if (!is_inside || covered >= fewest) continue;
      fewest = covered;
      best = place;
    }
    put("<text class=\"tag\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", best.x, best.y + 4, html_escaped(tag));
    return best;
  }

  // An end that lies beyond the frame has no cap.
  void draw_bars(const ChartPoint& point, double x, double y) {
    if (point.y_low && point.y_high) {
      const double low = y_.at(*point.y_low), high = y_.at(*point.y_high);
      if (low - high >= 1) {
        const bool cut = clamp_y(low) != low || clamp_y(high) != high;
        put("<path class=\"bar{}\" d=\"M{:.1f} {:.1f}V{:.1f}", cut ? " cut" : "", x, clamp_y(low), clamp_y(high));
        for (const double end : {low, high}) {
          if (clamp_y(end) == end) put("M{:.1f} {:.1f}h6", x - 3, end);
        }
        put("\"/>");
      }
    }
    if (point.x_low && point.x_high) {
      const double low = x_.at(*point.x_low), high = x_.at(*point.x_high);
      if (high - low >= 1) {
        const bool cut = clamp_x(low) != low || clamp_x(high) != high;
        put("<path class=\"bar{}\" d=\"M{:.1f} {:.1f}H{:.1f}", cut ? " cut" : "", clamp_x(low), y, clamp_x(high));
        for (const double end : {low, high}) {
          if (clamp_x(end) == end) put("M{:.1f} {:.1f}v6", end, y - 3);
        }
        put("\"/>");
      }
    }
  }

  double clamp_y(double y) const { return std::clamp(y, top - 6, bottom); }
  double clamp_x(double x) const { return std::clamp(x, left_, right_); }

  // Beside the last point of each line, moved apart where they would overlap.
  void draw_labels() {
    if (!labelled_) return;
    struct Label {
      double y;
      const ChartLine* line;
    };
    std::vector<Label> labels;
    for (const ChartLine& line : lines_) {
      if (!line.faint && !line.label.empty()) labels.push_back({y_.at(line.points.back().y), &line});
    }
    std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
    constexpr double apart = 14;
    for (size_t i = 1; i < labels.size(); ++i) labels[i].y = std::max(labels[i].y, labels[i - 1].y + apart);
    const double overflow = labels.empty() ? 0 : labels.back().y - (bottom - 4);
    if (overflow > 0) {
      labels.back().y -= overflow;
      for (size_t i = labels.size() - 1; i-- > 0;) labels[i].y = std::min(labels[i].y, labels[i + 1].y - apart);
    }
    for (const Label& label : labels) {
      put("<text class=\"label s{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", style_index(label.line->style), right_ + 6, label.y + 4,
          html_escaped(label.line->label));
    }
  }

  const Chart& chart_;
  std::vector<ChartLine> lines_;
  bool labelled_;
  double right_;
  DrawnAxis y_;
  double left_;
  DrawnAxis x_;
  std::string out_;
};

}  // namespace

bool has_end_labels(const Chart& chart) {
  size_t labels = 0;
  for (const ChartLine& line : chart.lines) {
    if (line.faint || line.label.empty() || line.points.empty()) continue;
    ++labels;
    if (count_characters(line.label) > longest_label) return false;
  }
  return labels >= 2 && labels <= 5;
}

std::string chart_svg(const Chart& chart) {
  auto lines = drawable_lines(chart);
  if (lines.empty()) return {};
  return Drawing(chart, std::move(lines)).svg();
}

namespace {

// A line's colour and marker as a small image.
std::string legend_swatch(int style) {
  return fmt::format(
      "<svg class=\"swatch\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><g class=\"line s{}\"><path class=\"path\" d=\"M1 6H25\"/>"
      "<path class=\"mark\" transform=\"translate(13 6)\" d=\"{}\"/></g></svg>",
      style_index(style), markers[static_cast<size_t>(style_index(style))]);
}

}  // namespace

const std::array<std::string_view, palette_size>& marker_paths() { return markers; }

std::string legend(const Chart& chart) {
  std::string html = "<ul class=\"legend\">";
  for (const ChartLine& line : chart.lines) {
    if (!line.faint) html += "<li>" + legend_swatch(line.style) + html_escaped(line.label) + "</li>";
  }
  return html + "</ul>";
}

std::string chart_figure(const std::string& title, const std::string& note, const Chart& chart) {
  const std::string svg = chart_svg(chart);
  if (svg.empty()) return {};
  return fmt::format("<figure><figcaption><b>{}</b><span>{}</span></figcaption>{}{}</figure>", html_escaped(title), html_escaped(note),
                     has_end_labels(chart) ? "" : legend(chart), svg);
}

}  // namespace deepgap
