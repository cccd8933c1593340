#include "report/telemetry_table.h"

#include "base/csv_text.h"
#include "base/text.h"
#include "record/fact_values.h"
#include "record/marked_parts.h"
#include "record/token_series.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>

namespace deepgap {
namespace {

constexpr int64_t second = 1'000'000'000;

// Converts from the run's clock to Unix time by what it showed when the Record began. Older Records know only when their first window did.
int64_t unix_ns(const Record& record, Nanoseconds time) {
  const auto* clock_begin = fact_as<int64_t>(record.facts, "clock.begin_ns");
  const Nanoseconds begin = clock_begin != nullptr ? *clock_begin : record.windows.empty() ? 0 : record.windows.front().begin;
  return record.started_unix_ns + (time - begin);
}

std::string iso_time(int64_t unix) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(unix / second)), unix / 1'000'000 % 1000);
}

std::string window_at(const Record& record, Nanoseconds time) {
  for (const Window& window : record.windows) {
    if (time >= window.begin && time <= window.end) return window.name;
  }
  return {};
}

struct LogColumn {
  std::string_view series, title;
  double unit;
  int digits;
};
constexpr std::array<LogColumn, 8> log_columns{{{"temperature", "temperature.gpu", 1, 0},
                                                {"power", "power.draw [W]", 1, 2},
                                                {"utilization", "utilization.gpu [%]", 100, 0},
                                                {"utilization_memory", "utilization.memory [%]", 100, 0},
                                                {"memory_used", "memory.used [MiB]", 1.0 / (1 << 20), 0},
                                                {"clock_sm", "clocks.current.sm [MHz]", 1e-6, 0},
                                                {"clock_memory", "clocks.current.memory [MHz]", 1e-6, 0},
                                                {"performance_state", "pstate", 1, 0}}};

// The last reading up to `time`; nullptr: there is none yet.
const double* value_at(const Series* series, Nanoseconds time) {
  if (series == nullptr) return nullptr;
  const auto after = std::upper_bound(series->times.begin(), series->times.end(), time);
  return after == series->times.begin() ? nullptr : &series->values[static_cast<size_t>(after - series->times.begin()) - 1];
}

std::string log_line(const Record& record, const std::string& device, const std::map<std::string, const Series*>& series,
                     Nanoseconds time) {
  const int64_t at = unix_ns(record, time);
  std::string line = fmt::format("{:%Y/%m/%d %H:%M:%S}.{:03}, {}", fmt::gmtime(static_cast<std::time_t>(at / second)),
                                 at / 1'000'000 % 1000, device.substr(device.find(':') + 1));
  for (const LogColumn& column : log_columns) {
    const auto found = series.find(std::string(column.series));
    const double* value = value_at(found == series.end() ? nullptr : found->second, time);
    const char* state = column.series == "performance_state" ? "P" : "";
    line += value == nullptr ? ", [N/A]" : fmt::format(", {}{:.{}f}", state, *value * column.unit, column.digits);
  }
  return line + "\n";
}

}  // namespace

bool is_of_server(const Series& series) { return series.probe == "server" || series.probe.starts_with("server."); }

SeriesName series_name(const Series& series) {
  const bool of_server = is_of_server(series);
  const std::string_view of_gpu = of_server ? ".gpu" : ".cuda";
  const size_t dot = series.name.rfind(of_gpu);
  const auto index = dot == std::string::npos ? std::nullopt : parse_int(std::string_view(series.name).substr(dot + of_gpu.size()));
  if (index) return {fmt::format("{}:{}", of_server ? series.probe : "cuda", *index), series.name.substr(0, dot)};
  if (of_server) return {series.probe, series.name};
  return {series.probe == "proc" || series.probe == "slices" ? "cpu" : "", series.name};
}

std::string telemetry_header() { return "time,device,name,unit,value,counter,window,record_id\n"; }

std::string telemetry_rows(const Record& record) {
  std::string rows;
  for (const Series& series : record.series) {
    if (series.probe == marks_probe || series.probe == tokens_probe) continue;  // these belong to single queries: deepgap export --timings
    const SeriesName name = series_name(series);                                // a server's metrics, in the server's words
    const std::string what = fmt::format("{},{},{}", csv_text(name.device), csv_text(name.name), csv_text(series.unit));
    const std::string id = csv_text(record.record_id);
    for (size_t i = 0; i < series.times.size(); ++i) {
      rows += fmt::format("{},{},{},{},{},{}\n", iso_time(unix_ns(record, series.times[i])), what, series.values[i], series.counter,
                          csv_text(window_at(record, series.times[i])), id);
    }
  }
  return rows;
}

std::string telemetry_log_header() {
  std::string header = "timestamp, index";
  for (const LogColumn& column : log_columns) header += fmt::format(", {}", column.title);
  return header + "\n";
}

std::string telemetry_log(const Record& record) {
  std::map<std::string, std::map<std::string, const Series*>> devices;
  Nanoseconds begin = never, end = 0;
  for (const Series& series : record.series) {
    const SeriesName name = series_name(series);
    if (!name.device.starts_with("cuda:") || series.times.empty()) continue;
    devices[name.device][name.name] = &series;
    begin = std::min(begin, series.times.front());
    end = std::max(end, series.times.back());
  }
  std::string log;
  if (devices.empty()) return log;
  // Each second shows what was read within it.
  for (Nanoseconds time = begin + second; time < end + second; time += second) {
    for (const auto& [device, series] : devices) log += log_line(record, device, series, std::min(time, end));
  }
  return log;
}

}  // namespace deepgap
