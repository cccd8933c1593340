#include "report/timings_table.h"

#include "analysis/steady.h"
#include "base/csv_text.h"
#include "record/marked_parts.h"
#include "record/record_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <iterator>
#include <optional>
#include <string_view>

namespace deepgap {
namespace {

std::string_view status_name(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::failed:
      return "failed";
    case Status::cancelled:
      return "cancelled";
  }
  return "";
}

Nanoseconds window_begin(const Record& record) {
  for (const Window& window : record.windows)
    if (window.name == "steady" || window.name == "turns") return window.begin;
  return record.timings.empty() ? 0 : record.timings.front().begin;
}

double latency_ms(const Timing& timing) { return static_cast<double>(timing.end - timing.scheduled) / 1e6; }

// Goes through a Record's Series of marks beside its timings: both are in order of completion.
class MarkColumns {
 public:
  explicit MarkColumns(const Record& record) {
    for (size_t i = 0; i < marked_parts.size(); ++i) columns_[i].series = find_series(record, marks_probe, marked_parts[i]);
  }
  // Of the next timing, in the order of marked_parts; nullopt where it has no such part.
  std::array<std::optional<double>, marked_parts.size()> next(const Timing& timing) {
    std::array<std::optional<double>, marked_parts.size()> values;
    for (size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      if (column.series == nullptr || column.next == column.series->times.size()) continue;
      if (column.series->times[column.next] == timing.end) values[i] = column.series->values[column.next++];
    }
    return values;
  }

 private:
  struct Column {
    const Series* series = nullptr;
    size_t next = 0;
  };
  std::array<Column, marked_parts.size()> columns_;
};

}  // namespace

std::string timings_header() {
  return fmt::format("record_id,point_id,repeat,query,due_ns,issued_ns,done_ns,latency_ms,samples,status,{}\n",
                     fmt::join(marked_parts, ","));
}

std::string timings_rows(const Record& record) {
  const Nanoseconds begin = window_begin(record);
  const std::string common = fmt::format("{},{},{}", csv_text(record.record_id), point_id(record.point), record.repeat);
  MarkColumns marks(record);
  std::string rows;
  for (const Timing& timing : record.timings) {
    fmt::format_to(std::back_inserter(rows), "{},{},{},{},{},{},{},{}", common, timing.query, timing.scheduled - begin,
                   timing.begin - begin, timing.end - begin, latency_ms(timing), timing.samples, status_name(timing.status));
    for (const std::optional<double>& ms : marks.next(timing)) rows += ms ? fmt::format(",{}", *ms) : ",";
    rows += '\n';
  }
  return rows;
}

std::string timings_objects(const Record& record) {
  const Nanoseconds begin = window_begin(record);
  const std::string id = nlohmann::json(record.record_id).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  const std::string common = fmt::format(R"("record_id":{},"point_id":"{}","repeat":{})", id, point_id(record.point), record.repeat);
  MarkColumns marks(record);
  std::string objects;
  for (const Timing& timing : record.timings) {
    fmt::format_to(std::back_inserter(objects),
                   R"({}{{{},"query":{},"due_ns":{},"issued_ns":{},"done_ns":{},"latency_ms":{},"samples":{},"status":"{}")",
                   objects.empty() ? "" : ",\n", common, timing.query, timing.scheduled - begin, timing.begin - begin, timing.end - begin,
                   latency_ms(timing), timing.samples, status_name(timing.status));
    const auto values = marks.next(timing);
    for (size_t i = 0; i < values.size(); ++i)
      objects += values[i] ? fmt::format(",\"{}\":{}", marked_parts[i], *values[i]) : fmt::format(",\"{}\":null", marked_parts[i]);
    objects += '}';
  }
  return objects;
}

}  // namespace deepgap
