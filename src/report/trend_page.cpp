#include "report/trend_page.h"

#include "analysis/words.h"
#include "report/axis.h"
#include "report/html.h"
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr double left = 66, right = wide_right, top = wide_top, bottom = wide_bottom, height = 232;
constexpr size_t most_dots = 400, most_pictures = 60;
constexpr double hours = 3600e9, days = 24 * hours;

std::string date_of(int64_t unix_ns) { return format_time(unix_ns).substr(0, 10); }

class TrendDrawing {
 public:
  TrendDrawing(const TrendSeries& series, const std::string& axis)
      : series_(series), axis_(axis), y_(Scale::around, least(), most(), bottom, top, 34) {}

  std::string svg(const std::string& describe) {
    out_ = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", wide_width, height,
                       html_escaped(describe));
    draw_axes();
    draw_changes();
    draw_runs();
    return out_ + "</svg>";
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    out_ += fmt::format(text, std::forward<Args>(args)...);
  }
  double least() const {
    return std::min_element(series_.runs.begin(), series_.runs.end(), [](const auto& a, const auto& b) { return a.value < b.value; })
        ->value;
  }
  double most() const {
    return std::max_element(series_.runs.begin(), series_.runs.end(), [](const auto& a, const auto& b) { return a.value < b.value; })
        ->value;
  }
  // Runs stand side by side, whatever time is between them: a night without one leaves no hole.
  double x_at(double run) const {
    const auto n = static_cast<double>(series_.runs.size());
    return left + (run + 0.5) / n * (right - left);
  }

  void draw_axes() {
    put("<text class=\"axis-title\" x=\"2\" y=\"14\">{}</text>", html_escaped(axis_));
    out_ += grid_svg(y_, left, right);
    put("<g class=\"tick\" text-anchor=\"middle\">");
    const bool one_day = series_.runs.back().started_unix_ns - series_.runs.front().started_unix_ns < days;
    const size_t ticks = std::min<size_t>(series_.runs.size(), 5);
    for (size_t i = 0; i < ticks; ++i) {
      const size_t run = ticks == 1 ? 0 : i * (series_.runs.size() - 1) / (ticks - 1);
      const int64_t at = series_.runs[run].started_unix_ns;
      put("<path d=\"M{0:.1f} {1:.0f}v4\"/><text x=\"{2:.1f}\" y=\"{3:.0f}\">{4}</text>", x_at(static_cast<double>(run)), bottom,
          std::clamp(x_at(static_cast<double>(run)), left + 20, right - 30), bottom + 17,
          one_day ? format_time(at).substr(11, 5) : date_of(at));
    }
    put("</g><path class=\"axis\" d=\"M{:.0f} {:.0f}H{:.0f}\"/>", left, bottom, right);
  }
  void draw_changes() {
    size_t from = 0;
    double level = series_.changes.empty() ? 0 : series_.changes.front().before;
    for (size_t i = 0; i <= series_.changes.size() && !series_.changes.empty(); ++i) {
      const size_t to = i < series_.changes.size() ? series_.changes[i].at : series_.runs.size();
      put("<path class=\"found\" d=\"M{:.1f} {:.1f}H{:.1f}", x_at(static_cast<double>(from) - 0.5), y_.at(level),
          x_at(static_cast<double>(to) - 0.5));
      if (i < series_.changes.size()) put("M{:.1f} {:.0f}V{:.0f}", x_at(static_cast<double>(to) - 0.5), top, bottom);
      put("\"/>");
      from = to;
      if (i < series_.changes.size()) level = series_.changes[i].after;
    }
  }
  void draw_runs() {
    put("<g class=\"line s0\">");
    const size_t every = (series_.runs.size() + most_dots - 1) / most_dots;
    for (size_t i = 0; i < series_.runs.size(); i += every) {
      const TrendRun& run = series_.runs[i];
      put("<circle class=\"mark\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\"><title>{}: {}{}</title></circle>", x_at(static_cast<double>(i)),
          y_.at(run.value), format_time(run.started_unix_ns), format_significant(run.value, 4),
          run.version.empty() ? "" : ", " + html_escaped(run.version));
    }
    put("</g>");
  }

  const TrendSeries& series_;
  const std::string& axis_;
  DrawnAxis y_;
  std::string out_;
};

bool can_be_drawn(const TrendSeries& series) {
  return series.runs.size() > 1 &&
         std::all_of(series.runs.begin(), series.runs.end(), [](const TrendRun& run) { return std::isfinite(run.value); });
}

}  // namespace

std::string trend_svg(const TrendSeries& series, const std::string& axis, const std::string& describe) {
  return can_be_drawn(series) ? TrendDrawing(series, axis).svg(describe) : std::string();
}

std::string trend_page(const TrendPage& page) {
  const std::string unit = page.control.empty() ? page.unit : "over the control's";
  const std::string axis = unit.empty() || unit == "1" ? page.metric : fmt::format("{} ({})", page.metric, unit);
  std::string html, where = "nothing yet";
  size_t drawn = 0, left_out = 0;
  // Those that changed are drawn first where not all can be; the order on the page stays.
  const auto changed = static_cast<size_t>(
      std::count_if(page.shown.begin(), page.shown.end(), [](const ShownTrend& t) { return !t.series->changes.empty(); }));
  size_t room = most_pictures - std::min(changed, most_pictures);
  for (const ShownTrend& shown : page.shown) {
    if (shown.where != where)
      html += "<h2>" + html_escaped(shown.where.empty() ? "A machine without a recorded name" : shown.where) + "</h2>\n";
    where = shown.where;
    html += "<h3>" + html_escaped(shown.label) + "</h3>";
    const bool has_room = shown.series->changes.empty() ? room > 0 : drawn < most_pictures;
    const std::string svg = has_room ? trend_svg(*shown.series, axis, shown.label) : std::string();
    if (!has_room) ++left_out;
    if (!svg.empty()) {
      html += "<figure class=\"wide\">" + svg + "</figure>";
      ++drawn;
      if (shown.series->changes.empty()) --room;
    }
    for (const std::string& line : shown.words) html += "<p>" + html_escaped(line) + "</p>\n";
  }
  html += left_out_note(left_out, "more series is not drawn", "more series are not drawn");
  PageParts parts;
  parts.eyebrow = "deepgap trend";
  parts.title = page.metric + " from run to run";
  parts.lede = "<p class=\"lede\">" + html_escaped(page.counts) +
               ".</p><p class=\"aside\">A dot is a run, side by side in order of time. Lines are the "
               "levels between changes that were found." +
               (page.control.empty() ? std::string() : " Values are divided by those of the control, " + html_escaped(page.control) + ".") +
               "</p>";
  parts.sections = html;
  return html_page(parts);
}

}  // namespace deepgap
