#include "cli/selection.h"

#include "analysis/words.h"
#include "base/text.h"
#include "record/identity.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr const char* tag_key = "tag";
constexpr const char* time_key = "timestamp";

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

std::string value_of(const Record& record, const std::string& key, const ExportColumn* column) {
  if (const auto option = record.point.options.find(key); option != record.point.options.end()) return option->second;
  if (column == nullptr) return {};
  ExportRow row;
  row.record = &record;
  row.environment = &record.environment;
  if (key == "device_name" || key == "machine") row.identity = identity_of(record);  // dear, and of no other column
  if (key == "point_id") row.point_id = point_id(record.point);
  return text_of(column->cell(row));
}

// One value for most keys; a Record may have several tags.
std::vector<std::string> values_of(const Record& record, const std::string& key, const ExportColumn* column) {
  if (key == tag_key) return {record.annotations.tags.begin(), record.annotations.tags.end()};
  return {value_of(record, key, column)};
}

// A number is no slip of the hand: all there are, in their order.
std::string unknown_value(const std::string& key, const std::string& value, std::vector<std::string> known) {
  if (!parse_double(value)) return unknown_name(key, value, known);
  std::stable_sort(known.begin(), known.end(),
                   [](const std::string& a, const std::string& b) { return parse_double(a).value_or(0) < parse_double(b).value_or(0); });
  return fmt::format("unknown {} '{}'; known: {}", key, value, join(known, ", "));
}

}  // namespace

Selection::Selection(const std::string& text) {
  for (const std::string& part : split(text, ';')) {
    const std::string word = trim(part);
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(ErrorKind::usage, fmt::format("selection '{}': '{}' is not KEY=VALUE, such as backend=native;batch=8", text, word));
    const std::string key = trim(word.substr(0, equals));
    if (find_column(key) == nullptr && key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") != std::string::npos)
      throw Error(ErrorKind::usage, fmt::format("selection '{}': '{}' is neither a column of deepgap export nor an option", text, key));
    require(key, split(word.substr(equals + 1), '|'));
  }
}

void Selection::require(const std::string& key, std::vector<std::string> values) {
  Condition condition{key, std::move(values), find_column(key)};
  condition.said = key + "=" + join(condition.values, "|");
  conditions_.push_back(std::move(condition));
}

void Selection::require_time(const std::string& key, int64_t from, int64_t to, const std::string& said) {
  Condition condition{time_key, {}, nullptr, from, to, key + " " + said};
  conditions_.push_back(std::move(condition));
}

void Selection::since(int64_t unix_ns, const std::string& said) {
  require_time("since", unix_ns, std::numeric_limits<int64_t>::max(), said);
}

void Selection::before(int64_t unix_ns, const std::string& said) {
  require_time("until", std::numeric_limits<int64_t>::min(), unix_ns, said);
}

bool Selection::holds(const Condition& condition, const Record& record) {
  if (condition.values.empty()) return record.started_unix_ns >= condition.from_unix_ns && record.started_unix_ns < condition.to_unix_ns;
  const std::vector<std::string> own = values_of(record, condition.key, condition.column);
  return std::any_of(own.begin(), own.end(), [&](const std::string& value) {
    return std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end();
  });
}

bool Selection::holds(const Record& record) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) { return holds(condition, record); });
}

std::set<std::string> Selection::keys() const {
  std::set<std::string> keys;
  for (const Condition& condition : conditions_) keys.insert(condition.key);
  return keys;
}

std::string Selection::why_none(const EachRecord& each) const {
  constexpr size_t most_known = 50;  // values to list
  struct Tried {
    bool held = false;
    std::set<std::string> known;
  };
  std::vector<Tried> tried(conditions_.size());
  int64_t records = 0, first = 0, last = 0;
  each([&](const Record& record) {
    first = records == 0 ? record.started_unix_ns : std::min(first, record.started_unix_ns);
    last = std::max(last, record.started_unix_ns);
    ++records;
    for (size_t i = 0; i < tried.size(); ++i) {
      const Condition& condition = conditions_[i];
      tried[i].held = tried[i].held || holds(condition, record);
      if (condition.values.empty() || tried[i].held || tried[i].known.size() >= most_known) continue;
      for (std::string& value : values_of(record, condition.key, condition.column)) tried[i].known.insert(std::move(value));
      tried[i].known.erase("");
    }
  });
  if (records == 0) return "there are no records yet";
  std::vector<std::string> said;
  for (size_t i = 0; i < tried.size(); ++i) {
    const Condition& condition = conditions_[i];
    said.push_back(condition.said);
    if (tried[i].held) continue;
    if (condition.values.empty())
      return fmt::format("no record {}: they are from {} to {}", condition.said, format_time(first), format_time(last));
    if (tried[i].known.empty()) return fmt::format("no record has a {}, so none has {}", condition.key, condition.said);
    return unknown_value(condition.key, condition.values.front(), {tried[i].known.begin(), tried[i].known.end()});
  }
  return fmt::format("no record has {} together", list_of(said));
}

}  // namespace deepgap
