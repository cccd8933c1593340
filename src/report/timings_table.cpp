#include "report/timings_table.h"

#include "base/csv_text.h"
#include "record/record_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
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

}  // namespace

std::string timings_header() { return "record_id,point_id,repeat,query,due_ns,issued_ns,done_ns,latency_ms,samples,status\n"; }

std::string timings_rows(const Record& record) {
  const Nanoseconds begin = window_begin(record);
  const std::string common = fmt::format("{},{},{}", csv_text(record.record_id), point_id(record.point), record.repeat);
  std::string rows;
  for (const Timing& timing : record.timings)
    fmt::format_to(std::back_inserter(rows), "{},{},{},{},{},{},{},{}\n", common, timing.query, timing.scheduled - begin,
                   timing.begin - begin, timing.end - begin, latency_ms(timing), timing.samples, status_name(timing.status));
  return rows;
}

std::string timings_objects(const Record& record) {
  const Nanoseconds begin = window_begin(record);
  const std::string id = nlohmann::json(record.record_id).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  const std::string common = fmt::format(R"("record_id":{},"point_id":"{}","repeat":{})", id, point_id(record.point), record.repeat);
  std::string objects;
  for (const Timing& timing : record.timings)
    fmt::format_to(std::back_inserter(objects),
                   R"({}{{{},"query":{},"due_ns":{},"issued_ns":{},"done_ns":{},"latency_ms":{},"samples":{},"status":"{}"}})",
                   objects.empty() ? "" : ",\n", common, timing.query, timing.scheduled - begin, timing.begin - begin, timing.end - begin,
                   latency_ms(timing), timing.samples, status_name(timing.status));
  return objects;
}

}  // namespace deepgap
