// The rows that `deepgap export` writes: one a Record or one a Point, as CSV or JSON with the columns of docs/reference/database.md. Rows
// are written as they come, so that a large Store costs no memory. Used by src/cli/cmd_export.cpp; plain values, one thread.
#pragma once

#include "analysis/point_summary.h"

#include <deepgap/record.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace deepgap {

// Nothing: there is no such value, an empty field or null. NaN and infinities are nothing too.
using Cell = std::variant<std::monostate, bool, int64_t, double, std::string>;

enum class ExportFormat { csv, json };

// The source of a row: a Record, or a Point's summary in the form of a Record.
struct ExportRow {
  const Record* record = nullptr;
  const Facts* environment = nullptr;
  std::string point_id;
  Identity identity;
  bool of_point = false;                    // then record_id, repeat, sweep and run_id have no value, nor has what its Records do not share
  std::optional<int64_t> timings;           // raw timings of the run
  std::optional<int64_t> repeats, records;  // for a Point or an averaged Record: used, and all
  std::string node;                         // for a Record, if known
  std::optional<int64_t> nodes;             // for a Point: the nodes that its intervals are between; absent where no Record has one
};

struct ExportColumn {
  std::string name;
  std::function<Cell(const ExportRow&)> cell;
};

// The fixed columns in their order, then a column for each of `metric_ids` that is not among them, sorted.
std::vector<ExportColumn> export_columns(const std::vector<std::string>& metric_ids);

struct PointHash {
  size_t operator()(const Point& point) const;
};

// Receives pieces of text in order.
using TextSink = std::function<void(std::string_view)>;

class ExportWriter {
 public:
  ExportWriter(ExportFormat format, std::vector<ExportColumn> columns, TextSink sink);
  void add(const Record& record, std::optional<int64_t> timings);
  void add(const PointSummary& summary);
  void finish();  // after the last row; also where there was none

 private:
  void add(const ExportRow& row);
  void begin();
  const std::string& id_of(const Point& point);

  ExportFormat format_;
  std::vector<ExportColumn> columns_;
  TextSink sink_;
  std::vector<std::string> keys_;                          // the columns' names as JSON
  std::unordered_map<Point, std::string, PointHash> ids_;  // making an id costs more than the rest of a row
  bool begun_ = false, first_row_ = true;
  std::string line_;
};

// A text as csv_text() of base writes it.
std::string csv_field(const Cell& cell);
std::string json_value(const Cell& cell);

}  // namespace deepgap
