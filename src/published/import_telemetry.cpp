#include "published/import_telemetry.h"

#include "base/text.h"
#include "published/export_time.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace deepgap {
namespace {

constexpr std::array<std::string_view, 8> columns{"time", "device", "name", "unit", "value", "counter", "window", "record_id"};
enum Place : size_t { time_of, device, name, unit, value, counter, window, record_id };

// "cuda:0" and "power" are the series "power.cuda0" of NVML; what is of the CPU was read from /proc; "server:0" and "power" are
// "power.gpu0" of a server.
Series series_of(const CsvRow& row) {
  const std::string& of = row.cells[device];
  Series series;
  const bool of_server = of == "server" || of.starts_with("server.") || of.starts_with("server:");
  const size_t colon = of.find(':');
  series.probe = of == "cpu" ? "proc" : of.starts_with("cuda:") ? "nvml" : of_server ? of.substr(0, colon) : "";
  series.name = row.cells[name];
  if (colon != std::string::npos && !series.probe.empty()) series.name += (of_server ? ".gpu" : ".cuda") + of.substr(colon + 1);
  series.unit = row.cells[unit];
  series.counter = row.cells[counter] == "true";
  return series;
}

void see_window(Record& record, const std::string& name, Nanoseconds time) {
  if (name.empty()) return;
  const auto found = std::find_if(record.windows.begin(), record.windows.end(), [&](const Window& w) { return w.name == name; });
  if (found == record.windows.end()) {
    record.windows.push_back({name, time, time});
  } else {
    found->begin = std::min(found->begin, time);
    found->end = std::max(found->end, time);
  }
}

}  // namespace

bool is_telemetry(const CsvTable& table) { return std::equal(table.header.begin(), table.header.end(), columns.begin(), columns.end()); }

int64_t add_telemetry(const CsvTable& table, std::vector<Record>& records) {
  if (!is_telemetry(table))
    throw Error(ErrorKind::input, fmt::format("{}: these are not the columns of deepgap export --telemetry", table.path));
  std::unordered_map<std::string, Record*> known;
  for (Record& record : records) known.emplace(record.record_id, &record);
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;  // places of a Record's series by device and name
  int64_t of_none = 0;
  for (const CsvRow& row : table.rows) {
    const auto found = known.find(row.cells[record_id]);
    if (found == known.end()) {
      ++of_none;
      continue;
    }
    Record& record = *found->second;
    const auto at = export_time(row.cells[time_of]);
    const auto reading = parse_double(row.cells[value]);
    if (!at)
      table.fail(row, fmt::format("invalid value '{}' for time: expected a time such as 2026-11-21T07:15:00.250Z", row.cells[time_of]));
    if (!reading) table.fail(row, fmt::format("invalid value '{}' for value: expected a number", row.cells[value]));
    const auto [place, is_new] = places.try_emplace({record.record_id, row.cells[device], row.cells[name]}, record.series.size());
    if (is_new) record.series.push_back(series_of(row));
    const Nanoseconds since = *at - record.started_unix_ns;
    record.series[place->second].times.push_back(since);
    record.series[place->second].values.push_back(*reading);
    record.facts["clock.begin_ns"] = int64_t{0};
    see_window(record, row.cells[window], since);
  }
  return of_none;
}

}  // namespace deepgap
