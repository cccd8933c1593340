#include "report/over_time.h"

#include "analysis/lines.h"
#include "analysis/steady.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/telemetry_table.h"
#include "stats/percentile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace deepgap {
namespace {

constexpr size_t bins = 120;

double seconds_after(Nanoseconds time, const Window& window) { return static_cast<double>(time - window.begin) / 1e9; }

// Median and slowest in each of equal parts of the window, by the time when the queries were due.
TimePicture latency_picture(const Record& record, const Window& window) {
  std::vector<std::vector<double>> latencies(bins);
  const auto length = static_cast<double>(window.end - window.begin);
  for (const Timing& timing : record.timings) {
    if (timing.status != Status::ok) continue;
    const double share = static_cast<double>(timing.scheduled - window.begin) / length;
    const auto bin = static_cast<size_t>(std::clamp(share * bins, 0.0, bins - 1.0));
    latencies[bin].push_back(static_cast<double>(timing.end - timing.scheduled) / 1e6);
  }
  TimePicture picture{"Latency", "Latency (ms)", {{"median", {}}, {"slowest", {}}}};
  for (size_t bin = 0; bin < bins; ++bin) {
    if (latencies[bin].empty()) continue;
    const double at = (static_cast<double>(bin) + 0.5) / bins * length / 1e9;
    picture.lines[0].points.emplace_back(at, percentile(latencies[bin], 50));
    picture.lines[1].points.emplace_back(at, *std::max_element(latencies[bin].begin(), latencies[bin].end()));
  }
  return picture;
}

struct Shown {
  std::string_view series, title, unit;
  double scale;
};
constexpr std::array<Shown, 13> shown{{{"power", "Power", "W", 1},
                                       {"clock_sm", "Clock of the GPU", "MHz", 1e-6},
                                       {"temperature", "Temperature", "degrees C", 1},
                                       {"utilization", "GPU in use", "%", 100},
                                       {"utilization_memory", "GPU memory in use", "% of the time", 100},
                                       {"memory_used", "GPU memory", "GiB", 1.0 / (1 << 30)},
                                       {"cpu_utilization", "CPUs of the server in use", "%", 100},
                                       {"pending_requests", "Requests that wait at the server", "requests", 1},
                                       {"requests", "Requests that the server answered", "requests/s", 1},
                                       {"run_delay", "Threads of the engine that waited for a CPU", "threads", 1},
                                       {"machine_busy", "CPUs busy", "CPUs", 1},
                                       {"machine_steal", "CPUs that the host gave to other machines", "CPUs", 1},
                                       {"cpu_frequency", "Clock of the CPUs", "GHz", 1e-9}}};

bool is_of_machine(const Series& series) {
  return series.probe == "nvml" || series.probe == "proc" || series.probe == "slices" || is_of_server(series);
}

// Readings in the window; of a counter its growth a second. Neighbours are joined to means where there are too many.
TimeLine line_of(const Series& series, const Window& window, double scale) {
  std::vector<std::pair<double, double>> all;
  for (size_t i = series.counter ? 1 : 0; i < series.times.size(); ++i) {
    if (series.times[i] < window.begin || series.times[i] > window.end) continue;
    const double span = series.counter ? static_cast<double>(series.times[i] - series.times[i - 1]) / 1e9 : 0;
    if (series.counter && span <= 0) continue;
    const double value = series.counter ? (series.values[i] - series.values[i - 1]) / span : series.values[i];
    all.emplace_back(seconds_after(series.times[i], window), value * scale);
  }
  TimeLine line{series_name(series).device, {}};
  const size_t joined = (all.size() + bins - 1) / bins;
  for (size_t first = 0; first < all.size(); first += joined) {
    const size_t count = std::min(joined, all.size() - first);
    double time = 0, value = 0;
    for (size_t i = first; i < first + count; ++i) {
      time += all[i].first / static_cast<double>(count);
      value += all[i].second / static_cast<double>(count);
    }
    line.points.emplace_back(time, value);
  }
  return line;
}

std::string figure(const TimePicture& picture, const std::string& label) {
  Chart chart{label + ": " + picture.title + " over time", {"Time (s)", Scale::linear, {}}, {picture.axis, Scale::linear, {}}, {}};
  for (const TimeLine& line : picture.lines) {
    ChartLine drawn{picture.lines.size() > 1 ? line.label : "", static_cast<int>(chart.lines.size()), false, {}};
    for (const auto& [time, value] : line.points) {
      ChartPoint point;
      point.x = time;
      point.y = value;
      drawn.points.push_back(point);
    }
    chart.lines.push_back(std::move(drawn));
  }
  return chart_figure(picture.title, picture.title == "Latency" ? "of queries by the time they were due" : "", chart);
}

}  // namespace

std::vector<const PointSummary*> points_over_time(const Results& results, size_t most) {
  std::vector<std::vector<const PointSummary*>> peaks;  // for each Workload, the fastest first
  size_t longest = 0;
  for (const Workload& workload : arrange(results.points)) {
    std::vector<const PointSummary*> found;
    for (const Line& line : workload.lines) {
      if (line.peak() != nullptr) found.push_back(line.peak());
    }
    const auto speed = [](const PointSummary* point) {
      const MetricSummary* throughput = point->find("throughput");
      return throughput == nullptr ? 0 : throughput->estimate.value;
    };
    std::stable_sort(found.begin(), found.end(), [&](const auto* a, const auto* b) { return speed(a) > speed(b); });
    longest = std::max(longest, found.size());
    peaks.push_back(std::move(found));
  }
  std::vector<const PointSummary*> chosen;
  for (size_t place = 0; place < longest; ++place) {
    for (const auto& found : peaks) {
      if (place < found.size() && chosen.size() < most) chosen.push_back(found[place]);
    }
  }
  return chosen;
}

Track track_of(const Record& record, const std::string& label) {
  Track track{label, {}};
  const Window* window = find_window(record, "steady");
  if (window == nullptr || window->end <= window->begin) return track;
  if (TimePicture latency = latency_picture(record, *window); !latency.lines[0].points.empty())
    track.pictures.push_back(std::move(latency));
  for (const Shown& what : shown) {
    TimePicture picture{std::string(what.title), fmt::format("{} ({})", what.title, what.unit), {}};
    for (const Series& series : record.series) {
      if (series_name(series).name != what.series || !is_of_machine(series)) continue;
      if (TimeLine line = line_of(series, *window, what.scale); line.points.size() > 1) picture.lines.push_back(std::move(line));
    }
    if (!picture.lines.empty()) track.pictures.push_back(std::move(picture));
  }
  return track;
}

std::string over_time_section(const std::vector<Track>& tracks) {
  std::string html;
  for (const Track& track : tracks) {
    std::string figures;
    for (const TimePicture& picture : track.pictures) figures += figure(picture, track.label);
    if (!figures.empty()) html += "<h3>" + html_escaped(track.label) + "</h3><div class=\"charts\">" + figures + "</div>";
  }
  if (html.empty()) return {};
  return "<section id=\"time\"><h2>Over time</h2><p class=\"aside\">One run of the fastest point of each engine and model: the measured "
         "window "
         "alone. All readings: <code>deepgap export STORE --telemetry</code>.</p>" +
         html + "</section>";
}

}  // namespace deepgap
