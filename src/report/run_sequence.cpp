#include "report/run_sequence.h"

#include "analysis/steady.h"
#include "analysis/words.h"
#include "base/quantity.h"
#include "record/record_json.h"
#include "report/axis.h"
#include "report/html.h"
#include "report/over_time.h"
#include "stats/correlated.h"
#include "stats/latency_bound.h"
#include "stats/percentile.h"
#include "stats/stationarity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>

namespace deepgap {
namespace {

constexpr size_t fewest_timings = 16, most_bins = 120, timings_a_bin = 4, most_strips = 3, fewest_readings = 8;
constexpr double unasked_tolerance = 0.01;  // as where the verdict was made (scenario/stopping/window_verdict.cpp)

double ms(double nanoseconds) { return nanoseconds / 1e6; }

// One query of the window: when it ended and what it took.
struct Step {
  double at_s = 0, value_ms = 0;
  uint32_t samples = 1;
};

// Returns completions as the verdict sees them: in order, each costing the time since the one before.
std::vector<Step> completions(const Record& record, Nanoseconds begin) {
  std::vector<Step> steps;
  Nanoseconds last = 0;
  for (const Timing& timing : record.timings) {
    if (timing.status != Status::ok) continue;
    if (steps.empty()) last = timing.begin;
    steps.push_back({static_cast<double>(timing.end - begin) / 1e9, ms(static_cast<double>(timing.end - last)), timing.samples});
    last = timing.end;
  }
  return steps;
}

// Returns latencies by when each was due: a bound is held against these.
std::vector<Step> latencies(const Record& record, Nanoseconds begin) {
  std::vector<Step> steps;
  for (const Timing& timing : record.timings) {
    if (timing.status != Status::ok) continue;
    steps.push_back({static_cast<double>(timing.scheduled - begin) / 1e9, ms(static_cast<double>(timing.end - timing.scheduled)), 1});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.at_s < b.at_s; });
  return steps;
}

std::vector<SequenceBin> binned(const std::vector<Step>& steps) {
  const size_t bins = std::clamp<size_t>(steps.size() / timings_a_bin, 1, most_bins);
  std::vector<SequenceBin> made;
  for (size_t bin = 0; bin < bins; ++bin) {
    const size_t first = steps.size() * bin / bins, last = steps.size() * (bin + 1) / bins;
    std::vector<double> values;
    double at = 0;
    for (size_t i = first; i < last; ++i) {
      values.push_back(steps[i].value_ms);
      at += steps[i].at_s;
    }
    const auto n = static_cast<double>(values.size());
    made.push_back({at / n, percentile(values, 10), std::accumulate(values.begin(), values.end(), 0.0) / n, percentile(values, 90)});
  }
  return made;
}

std::string share(double change) { return format_percent(std::abs(change)); }
const char* slower(double change) { return change > 0 ? "slower" : "faster"; }

// Marks what the verdict's own test finds in the same numbers.
class Marker {
 public:
  Marker(const Record& record, const std::vector<Step>& steps) : steps_(steps) {
    RatioSeries cost;
    double samples = 0;
    for (const Step& step : steps) {
      cost.add(step.value_ms, step.samples);
      samples += step.samples;
    }
    series_ = cost.batch_ratios();
    queries_ = static_cast<size_t>(cost.batch_size());
    for (double& value : series_) value *= samples / static_cast<double>(steps.size());  // a query's
    const double tolerance = record.stopping.name == "interval" ? record.stopping.interval : unasked_tolerance;
    found_ = find_shape(series_, tolerance);
  }

  void mark(RunSequence& sequence) const {
    const double end = steps_.back().at_s;
    const std::span<const double> series(series_);
    switch (found_.shape) {
      case SeriesShape::steady:
        return;
      case SeriesShape::warming:
        sequence.edge_s = time_at(found_.at);
        sequence.shaded = true;
        sequence.marks = {level(series.subspan(found_.at), *sequence.edge_s, end)};
        sequence.mark_words = fmt::format("a warm-up that went on, {} {}", share(found_.change), slower(found_.change));
        return;
      case SeriesShape::step:
        sequence.edge_s = time_at(found_.at);
        sequence.marks = {level(series.first(found_.at), 0, *sequence.edge_s), level(series.subspan(found_.at), *sequence.edge_s, end)};
        sequence.mark_words = fmt::format("{} {} from here on", share(found_.change), slower(found_.change));
        return;
      case SeriesShape::trend:
        sequence.marks = {line_through(end)};
        sequence.mark_words = fmt::format("the drift, {} {} at the end", share(found_.change), slower(found_.change));
        return;
      case SeriesShape::modes:
        mark_modes(sequence, end);
    }
  }

 private:
  double time_at(size_t stretch) const { return steps_[std::min(stretch * queries_, steps_.size() - 1)].at_s; }
  static SequenceMark level(std::span<const double> values, double begin, double end) {
    const double middle = percentile(values, 50);
    return {begin, end, middle, middle};
  }
  // Fits by least squares over the stretches, in time.
  SequenceMark line_through(double end) const {
    const auto n = static_cast<double>(series_.size());
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < series_.size(); ++i) {
      const double at = (time_at(i) + time_at(i + 1)) / 2;
      x += at / n;
      y += series_[i] / n;
      xx += at * at / n;
      xy += at * series_[i] / n;
    }
    const double slope = xx > x * x ? (xy - x * y) / (xx - x * x) : 0;
    return {0, end, y - slope * x, y + slope * (end - x)};
  }
  // The widest gap between neighbours by size, with some on either side.
  void mark_modes(RunSequence& sequence, double end) const {
    std::vector<double> sorted = series_;
    std::sort(sorted.begin(), sorted.end());
    size_t cut = sorted.size() / 2;
    for (size_t i = 3; i + 3 <= sorted.size(); ++i)
      if (sorted[i] - sorted[i - 1] > sorted[cut] - sorted[cut - 1]) cut = i;
    const std::span<const double> all(sorted);
    sequence.marks = {level(all.first(cut), 0, end), level(all.subspan(cut), 0, end)};
    sequence.mark_words = fmt::format("two speeds that took turns, {} apart", share(found_.change));
  }

  const std::vector<Step>& steps_;
  std::vector<double> series_;
  size_t queries_ = 1;  // in each stretch of the series
  ShapeFound found_;
};

std::vector<SequenceStrip> strips_of(const Record& record) {
  constexpr std::array<std::string_view, 6> wanted{"Clock of the GPU", "Clock of the CPUs", "CPUs busy", "Power",
                                                   "Temperature",      "GPU in use"};
  const Track track = track_of(record, "");
  std::vector<SequenceStrip> strips;
  for (const std::string_view title : wanted) {
    for (const TimePicture& picture : track.pictures) {
      const bool enough = picture.lines.front().points.size() >= fewest_readings;
      if (picture.title != title || strips.size() == most_strips || !enough) continue;
      strips.push_back({picture.axis, picture.lines.front().points});
    }
  }
  return strips;
}

std::optional<double> bound_ms(const Record& record) {
  const auto option = record.point.options.find("bound");
  if (option == record.point.options.end()) return std::nullopt;
  const auto bound = latency_bound_from(option->second);
  return bound ? std::optional(ms(static_cast<double>(bound->limit))) : std::nullopt;
}

void add_bound(const Record& record, RunSequence& sequence) {
  const auto bound = bound_ms(record);
  if (!bound) return;
  sequence.marks = {{0, sequence.length_s, *bound, *bound}};
  sequence.mark_words = "the bound, " + record.point.options.at("bound");
}

}  // namespace

std::optional<RunSequence> run_sequence_of(const Record& record, const std::string& label) {
  const Window* window = find_window(record, "steady");
  if (window == nullptr || window->end <= window->begin) return std::nullopt;
  const bool unstable = record.verdict == Verdict::unstable;
  const std::vector<Step> steps = unstable ? completions(record, window->begin) : latencies(record, window->begin);
  if (steps.size() < fewest_timings) return std::nullopt;
  RunSequence sequence;
  sequence.label = label;
  sequence.verdict = name_of(record.verdict);
  sequence.reason = record.reason;
  sequence.axis = unstable ? "From one completion to the next (ms)" : "Latency (ms)";
  sequence.length_s = static_cast<double>(window->end - window->begin) / 1e9;
  sequence.bins = binned(steps);
  unstable ? Marker(record, steps).mark(sequence) : add_bound(record, sequence);
  sequence.strips = strips_of(record);
  return sequence;
}

namespace {

constexpr double left = 58, right = wide_right, top = wide_top, main_bottom = wide_bottom, strip_height = 58;

std::string plain(double value) { return short_text(value, std::abs(value) < 1e4 ? 4 : 3); }

class SequenceDrawing {
 public:
  explicit SequenceDrawing(const RunSequence& sequence)
      : sequence_(sequence),
        bottom_(main_bottom + strip_height * static_cast<double>(sequence.strips.size())),
        x_(Scale::linear, 0, sequence.length_s / 1.1, left, right, 60),  // a linear axis leaves a tenth of room
        y_(vertical()) {}

  std::string svg() {
    out_ = fmt::format("<svg class=\"chart sequence\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", wide_width,
                       bottom_ + 40, html_escaped(fmt::format("{}: {}. {}", sequence_.label, sequence_.reason, sequence_.mark_words)));
    draw_grid();
    draw_run();
    draw_marks();
    for (size_t i = 0; i < sequence_.strips.size(); ++i)
      draw_strip(sequence_.strips[i], main_bottom + strip_height * static_cast<double>(i));
    draw_time();
    return out_ + "</svg>";
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    out_ += fmt::format(text, std::forward<Args>(args)...);
  }

  // Shows the range of most of the bins: one that took a hundred times as long goes out of the frame and does not flatten the others.
  DrawnAxis vertical() const {
    std::vector<double> lows, highs;
    for (const SequenceBin& bin : sequence_.bins) {
      lows.push_back(std::min(bin.low, bin.mean));
      highs.push_back(std::max(bin.high, bin.mean));
    }
    double least = percentile(lows, 2), most = percentile(highs, 98);
    for (const SequenceMark& mark : sequence_.marks) {
      least = std::min({least, mark.begin_value, mark.end_value});
      most = std::max({most, mark.begin_value, mark.end_value});
    }
    return {Scale::around, least, most, main_bottom, top, 34};
  }
  double x_at(double seconds) const { return std::clamp(x_.at(seconds), left, right); }
  double y_at(double value) const { return std::clamp(y_.at(value), top - 4, main_bottom); }

  void draw_grid() {
    put("<text class=\"axis-title\" x=\"2\" y=\"14\">{}</text>", html_escaped(sequence_.axis));
    out_ += grid_svg(y_, left, right);
  }
  void draw_run() {
    if (sequence_.shaded && sequence_.edge_s)
      put("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"var(--warn-tint)\"/>", left, top - 4,
          x_at(*sequence_.edge_s) - left, main_bottom - top + 4);
    put("<g class=\"line s0\"><path class=\"band\" d=\"");
    const auto& bins = sequence_.bins;
    for (size_t i = 0; i < bins.size(); ++i) put("{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', x_at(bins[i].at), y_at(bins[i].high));
    for (size_t i = bins.size(); i-- > 0;) put("L{:.1f} {:.1f}", x_at(bins[i].at), y_at(bins[i].low));
    put("Z\"/><path class=\"path\" d=\"");
    for (size_t i = 0; i < bins.size(); ++i) put("{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', x_at(bins[i].at), y_at(bins[i].mean));
    put("\"/></g>");
  }
  void draw_marks() {
    if (sequence_.edge_s) put("<path class=\"found\" d=\"M{:.1f} {:.0f}V{:.0f}\"/>", x_at(*sequence_.edge_s), top - 4, main_bottom);
    for (const SequenceMark& mark : sequence_.marks)
      put("<path class=\"found\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", x_at(mark.begin), y_at(mark.begin_value), x_at(mark.end),
          y_at(mark.end_value));
  }
  void draw_strip(const SequenceStrip& strip, double from) {
    const auto [least, most] =
        std::minmax_element(strip.points.begin(), strip.points.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const double strip_top = from + 22, strip_bottom = from + strip_height - 6;
    const DrawnAxis y(Scale::around, least->second, most->second, strip_bottom, strip_top, strip_height);
    put("<text class=\"tag\" x=\"{:.0f}\" y=\"{:.1f}\">{}: {} to {}</text><g class=\"line s5\"><path class=\"path thin\" d=\"", left,
        from + 15, html_escaped(strip.title), plain(least->second), plain(most->second));
    for (size_t i = 0; i < strip.points.size(); ++i)
      put("{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', x_at(strip.points[i].first), y.at(strip.points[i].second));
    put("\"/></g>");
  }
  void draw_time() {
    out_ += ticks_below_svg(x_, left, right, bottom_);
    put("<text class=\"axis-title\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">Time in the measured window (s)</text>",
        (left + right) / 2, bottom_ + 34);
  }

  const RunSequence& sequence_;
  double bottom_;
  DrawnAxis x_, y_;
  std::string out_;
};

}  // namespace

std::string run_sequence_svg(const RunSequence& sequence) {
  return sequence.bins.empty() ? std::string() : SequenceDrawing(sequence).svg();
}

std::string run_sequences_section(const RunSequences& sequences) {
  if (sequences.shown.empty()) return {};
  std::string html =
      "<section id=\"sequences\"><h2>Runs that are not valid</h2><p class=\"aside\">One run of each point, query after query. The line is "
      "the mean of neighbours, the band their middle eighty percent. The finding of the verdict is marked. Below, on the same axis, are "
      "the readings of the probes.</p>";
  for (const RunSequence& sequence : sequences.shown) {
    html += fmt::format("<h3>{}</h3><p><b>{}</b>: {}</p><figure class=\"wide\">{}", html_escaped(sequence.label),
                        html_escaped(sequence.verdict), html_escaped(sequence.reason), run_sequence_svg(sequence));
    if (!sequence.mark_words.empty())
      html += std::string("<figcaption><span>") + (sequence.shaded ? "Shaded: " : "Dashed: ") + html_escaped(sequence.mark_words) +
              ".</span></figcaption>";
    html += "</figure>\n";
  }
  const auto more = [&](size_t count, const char* why) {
    if (count > 0)
      html += fmt::format("<p class=\"aside\">{} that {} not valid {} not drawn: {}.</p>",
                          count_of(static_cast<int64_t>(count), "more point", "more points"), count == 1 ? "is" : "are",
                          count == 1 ? "is" : "are", why);
  };
  more(sequences.left_out, "to keep this page small; the table has their reasons");
  more(sequences.without_timings, "the store has too few timings of them, as a compact copy has none");
  return html + "</section>";
}

}  // namespace deepgap
