#include "report/timings_table.h"

#include "analysis/steady.h"
#include "base/csv_text.h"
#include "base/dump_json.h"
#include "record/marked_parts.h"
#include "record/record_json.h"
#include "record/token_series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

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
  // Returns the parts of the next timing, in the order of marked_parts; nullopt for a part that it does not have.
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

constexpr std::array<const char*, 5> token_columns{"input_tokens", "output_tokens", "cached_tokens", "ttft_ms", "tpot_ms"};

// Goes through what a Record's queries generated beside its timings: likewise.
class TokenColumns {
 public:
  using Values = std::array<std::optional<double>, token_columns.size()>;
  explicit TokenColumns(const Record& record) : streams_(token_streams(record)) {}

  Values next(const Timing& timing) {
    if (next_ == streams_.size() || streams_[next_].query != timing.query || streams_[next_].end != timing.end) return {};
    const TokenStream& stream = streams_[next_++];
    const auto known = [](int64_t count) { return count < 0 ? std::nullopt : std::optional(static_cast<double>(count)); };
    const int64_t output = stream.counts.output < 0 ? stream.tokens() : stream.counts.output;
    return {known(stream.counts.input), known(output), known(stream.counts.cached), stream.ttft_ms(), stream.tpot_ms()};
  }

 private:
  std::vector<TokenStream> streams_;
  size_t next_ = 0;
};

}  // namespace

std::string timings_header() {
  return fmt::format("record_id,point_id,repeat,query,due_ns,issued_ns,done_ns,latency_ms,samples,status,{},{}\n",
                     fmt::join(marked_parts, ","), fmt::join(token_columns, ","));
}

std::string timings_rows(const Record& record) {
  const Nanoseconds begin = window_begin(record);
  const std::string common = fmt::format("{},{},{}", csv_text(record.record_id), point_id(record.point), record.repeat + 1);
  MarkColumns marks(record);
  TokenColumns tokens(record);
  std::string rows;
  for (const Timing& timing : record.timings) {
    fmt::format_to(std::back_inserter(rows), "{},{},{},{},{},{},{},{}", common, timing.query, timing.scheduled - begin,
                   timing.begin - begin, timing.end - begin, latency_ms(timing), timing.samples, status_name(timing.status));
    for (const std::optional<double>& ms : marks.next(timing)) rows += ms ? fmt::format(",{}", *ms) : ",";
    for (const std::optional<double>& value : tokens.next(timing)) rows += value ? fmt::format(",{}", *value) : ",";
    rows += '\n';
  }
  return rows;
}

std::string timings_objects(const Record& record) {
  const Nanoseconds begin = window_begin(record);
  const std::string id = dump_ascii_line(nlohmann::json(record.record_id));
  const std::string common = fmt::format(R"("record_id":{},"point_id":"{}","repeat":{})", id, point_id(record.point), record.repeat + 1);
  MarkColumns marks(record);
  TokenColumns tokens(record);
  std::string objects;
  for (const Timing& timing : record.timings) {
    fmt::format_to(std::back_inserter(objects),
                   R"({}{{{},"query":{},"due_ns":{},"issued_ns":{},"done_ns":{},"latency_ms":{},"samples":{},"status":"{}")",
                   objects.empty() ? "" : ",\n", common, timing.query, timing.scheduled - begin, timing.begin - begin, timing.end - begin,
                   latency_ms(timing), timing.samples, status_name(timing.status));
    const auto values = marks.next(timing);
    for (size_t i = 0; i < values.size(); ++i)
      objects += values[i] ? fmt::format(",\"{}\":{}", marked_parts[i], *values[i]) : fmt::format(",\"{}\":null", marked_parts[i]);
    const auto counts = tokens.next(timing);
    for (size_t i = 0; i < counts.size(); ++i)
      objects += counts[i] ? fmt::format(",\"{}\":{}", token_columns[i], *counts[i]) : fmt::format(",\"{}\":null", token_columns[i]);
    objects += '}';
  }
  return objects;
}

}  // namespace deepgap
