#include "cli/selection.h"

#include "base/text.h"
#include "record/identity.h"
#include "record/record_json.h"
#include "report/export_table.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

const std::vector<ExportColumn>& columns() {
  static const std::vector<ExportColumn> all = export_columns({});
  return all;
}

const ExportColumn* find_column(const std::string& name) {
  const auto found = std::find_if(columns().begin(), columns().end(), [&](const ExportColumn& column) { return column.name == name; });
  return found == columns().end() ? nullptr : &*found;
}

std::string text_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return std::holds_alternative<std::monostate>(cell) ? "" : json_value(cell);
}

std::string value_of(const Record& record, const std::string& key) {
  if (const auto option = record.point.options.find(key); option != record.point.options.end()) return option->second;
  const ExportColumn* column = find_column(key);
  if (column == nullptr) return {};
  ExportRow row;
  row.record = &record;
  row.environment = &record.environment;
  row.identity = identity_of(record);
  if (key == "point_id") row.point_id = point_id(record.point);
  return text_of(column->cell(row));
}

}  // namespace

Selection::Selection(const std::string& text) {
  for (const std::string& part : split(text, ';')) {
    const std::string word = trim(part);
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(ErrorKind::usage, fmt::format("selection '{}': '{}' is no key=value; write them as backend=native;batch=8", text, word));
    const std::string key = trim(word.substr(0, equals));
    if (find_column(key) == nullptr && key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") != std::string::npos)
      throw Error(ErrorKind::usage, fmt::format("selection '{}': '{}' is neither a column of deepgap export nor an option", text, key));
    conditions_.push_back({key, split(word.substr(equals + 1), '|')});
  }
}

bool Selection::holds(const Record& record) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
    const std::string value = value_of(record, condition.key);
    return std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end();
  });
}

std::set<std::string> Selection::keys() const {
  std::set<std::string> keys;
  for (const Condition& condition : conditions_) keys.insert(condition.key);
  return keys;
}

}  // namespace deepgap
