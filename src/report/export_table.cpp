#include "report/export_table.h"

#include "base/csv_text.h"
#include "base/dump_json.h"
#include "base/text.h"
#include "record/averaged.h"
#include "record/fact_values.h"
#include "record/published.h"
#include "record/record_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace deepgap {
namespace {

// A Point's summary as a Record, so that one set of columns serves both.
Record as_record(const PointSummary& summary) {
  Record record;
  record.point = summary.point;
  record.tenant = summary.tenant;
  record.rank = summary.rank;
  record.outcome = summary.outcome;
  record.verdict = summary.verdict;
  record.reason = summary.reason;
  record.stderr_tail = summary.stderr_tail;
  record.unchecked = summary.unchecked;
  record.check = summary.check;
  record.stopping = summary.stopping;
  record.started_unix_ns = summary.first_started_unix_ns;
  if (!summary.currency.empty()) record.facts[published_currency_fact] = summary.currency;
  record.study = join({summary.studies.begin(), summary.studies.end()}, ", ");
  record.annotations = summary.annotations;
  record.backend_version = join({summary.backend_versions.begin(), summary.backend_versions.end()}, ", ");
  record.dataset_description = summary.dataset_description;
  record.parameters = summary.parameters;
  record.macs_per_item = summary.macs_per_item;
  record.flop_per_item = summary.flop_per_item;
  record.bytes_per_item = summary.bytes_per_item;
  for (const auto& [id, metric] : summary.metrics) record.estimates.emplace(id, metric.estimate);
  return record;
}

void append_number(std::string& line, const Cell& cell) {
  if (const auto* truth = std::get_if<bool>(&cell)) {
    line += *truth ? "true" : "false";
  } else if (const auto* whole = std::get_if<int64_t>(&cell)) {
    fmt::format_to(std::back_inserter(line), "{}", *whole);
  } else if (const auto* real = std::get_if<double>(&cell); real != nullptr && std::isfinite(*real)) {
    fmt::format_to(std::back_inserter(line), "{}", *real);  // as few digits as give the same number back
  }
}

void append_csv(std::string& line, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    append_csv_text(line, *text);
  } else {
    append_number(line, cell);
  }
}

bool is_nothing(const Cell& cell) {
  const auto* real = std::get_if<double>(&cell);
  return cell.index() == 0 || (real != nullptr && !std::isfinite(*real));
}

std::string json_text(const std::string& text) { return dump_ascii_line(nlohmann::json(text)); }

void append_json(std::string& line, const Cell& cell) {
  if (is_nothing(cell)) {
    line += "null";
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    line += json_text(*text);
  } else {
    append_number(line, cell);
  }
}

}  // namespace

std::string csv_field(const Cell& cell) {
  std::string field;
  append_csv(field, cell);
  return field;
}

std::string json_value(const Cell& cell) {
  std::string value;
  append_json(value, cell);
  return value;
}

ExportWriter::ExportWriter(ExportFormat format, std::vector<ExportColumn> columns, TextSink sink)
    : format_(format), columns_(std::move(columns)), sink_(std::move(sink)) {
  for (const ExportColumn& column : columns_) keys_.push_back(json_text(column.name) + ": ");
}

// Over what mostly differs; equality decides.
size_t PointHash::operator()(const Point& point) const {
  const std::hash<std::string> text;
  size_t hash = text(point.model) * 31 + text(point.backend);
  hash = hash * 31 + text(std::string(name_of(point.precision)));
  hash = hash * 1'000'003 + static_cast<size_t>(point.batch);
  hash = hash * 1'000'003 + static_cast<size_t>(point.threads);
  for (const auto& [key, value] : point.options) hash = hash * 31 + text(value);
  return hash;
}

const std::string& ExportWriter::id_of(const Point& point) {
  const auto known = ids_.find(point);
  if (known != ids_.end()) return known->second;
  return ids_.emplace(point, point_id(point)).first->second;
}

namespace {

void tell_average(const Record& record, ExportRow& row) {
  row.repeats = repeats_in(record);
  row.records = records_in(record);
  if (const int64_t nodes = fact_or<int64_t>(record.facts, averaged_nodes_fact, 0); nodes > 0) row.nodes = nodes;
  if (const auto* machines = fact_as<std::string>(record.facts, averaged_machines_fact)) row.identity.machine = *machines;
}

}  // namespace

void ExportWriter::add(const Record& record, std::optional<int64_t> timings) {
  ExportRow row;
  row.record = &record;
  row.environment = &record.environment;
  row.point_id = id_of(record.point);
  row.identity = identity_of(record);
  row.node = node_of(record);
  row.timings = timings;
  if (is_averaged(record.point)) tell_average(record, row);
  add(row);
}

void ExportWriter::add(const PointSummary& summary) {
  const Record record = as_record(summary);
  ExportRow row;
  row.record = &record;
  row.environment = summary.environment ? summary.environment.get() : &record.environment;
  row.point_id = summary.point_id;
  row.identity.device = summary.identity.device;
  row.identity.machine = join({summary.machines.begin(), summary.machines.end()}, "; ");
  row.of_point = true;
  row.repeats = summary.used;
  row.records = summary.records;
  const bool named = !summary.nodes.empty() && !summary.nodes.begin()->second.empty();
  if (named || summary.averaged_nodes > 0) row.nodes = summary.node_count();
  const MetricSummary* timings = summary.find("timings");
  if (timings != nullptr) row.timings = std::llround(timings->estimate.value);
  add(row);
}

void ExportWriter::begin() {
  begun_ = true;
  line_.clear();
  if (format_ == ExportFormat::json) {
    line_ += '[';
  } else {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line_ += ',';
      append_csv(line_, columns_[i].name);
    }
    line_ += '\n';
  }
  sink_(line_);
}

void ExportWriter::add(const ExportRow& row) {
  if (!begun_) begin();
  line_.clear();
  if (format_ == ExportFormat::json) line_ = first_row_ ? "\n {" : ",\n {";
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Cell cell = columns_[i].cell(row);
    if (format_ == ExportFormat::json) {
      if (i > 0) line_ += ", ";
      line_ += keys_[i];
      append_json(line_, cell);
    } else {
      if (i > 0) line_ += ',';
      append_csv(line_, cell);
    }
  }
  line_ += format_ == ExportFormat::json ? "}" : "\n";
  first_row_ = false;
  sink_(line_);
}

void ExportWriter::finish() {
  if (!begun_) begin();
  if (format_ == ExportFormat::json) sink_(first_row_ ? "]\n" : "\n]\n");
}

}  // namespace deepgap
