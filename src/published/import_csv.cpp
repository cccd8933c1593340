#include "published/import_csv.h"

#include "base/hash.h"
#include "base/messages.h"
#include "base/quantity.h"
#include "base/text.h"
#include "record/published.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace deepgap {
namespace {

constexpr int64_t most_devices = 4096;

class RowReader {
 public:
  RowReader(const CsvTable& table, const Mapping& mapping, const CsvRow& row) : table_(table), mapping_(mapping), row_(row) {
    for (const auto& [name, value] : mapping.all) read_shared(name, value);
    for (const ColumnMeaning& column : mapping.columns) read_cell(column);
  }

  const std::map<std::string, Printed>& numbers() const { return numbers_; }
  std::string text(const std::string& name, const std::string& otherwise = "") const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? otherwise : found->second;
  }
  int64_t count(const std::string& name, int64_t otherwise) const {
    const auto found = counts_.find(name);
    return found == counts_.end() ? otherwise : found->second;
  }
  // Returns the one of `all` that the column names; without the column, the one that a Point begins with.
  template <typename T, size_t count>
  T one_of(const std::array<T, count>& all, const std::string& column, T otherwise) const {
    const std::string name = text(column, std::string(name_of(otherwise)));
    std::vector<std::string> names;
    for (const T one : all) {
      if (name_of(one) == name) return one;
      names.emplace_back(name_of(one));
    }
    table_.fail(row_, invalid_choice(name, column, names) + "; the mapping's values can say which one is meant");
  }
  const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  void read_shared(const std::string& name, const std::string& value) {
    const Meaning meaning = meaning_of(name);
    if (meaning.kind == Meaning::Kind::count) {
      set_count(name, name, value);
    } else {
      texts_[name] = value;
    }
  }

  void read_cell(const ColumnMeaning& column) {
    const auto at = std::find(table_.header.begin(), table_.header.end(), column.column) - table_.header.begin();
    const std::string cell = trim(row_.cells[static_cast<size_t>(at)]);
    if (cell.empty() || column.meaning.kind == Meaning::Kind::ignored) return;
    if (column.meaning.kind == Meaning::Kind::text) {
      const auto ours = column.values.find(cell);
      texts_[column.meaning.name] = ours == column.values.end() ? cell : ours->second;
    } else if (column.meaning.kind == Meaning::Kind::count) {
      set_count(column.meaning.name, column.column, cell);
    } else {
      const double printed = number(column.column, cell);
      numbers_[column.meaning.name] = {column.column, printed * column.factor, half_unit_of(cell) * column.factor, column.factor};
    }
  }

  void set_count(const std::string& name, const std::string& column, const std::string& cell) {
    const auto value = parse_int(cell);
    const int64_t least = name == "items" ? 0 : 1;
    if (!value || *value < least) table_.fail(row_, fmt::format("{}: '{}' is not a whole number of {} or more", column, cell, least));
    if (name == "device_count" && *value > most_devices)
      table_.fail(row_, fmt::format("{}: {} devices are more than anybody has", column, cell));
    counts_[name] = *value;
    numbers_[name] = {column, static_cast<double>(*value), 0, 1};
  }

  double number(const std::string& column, const std::string& cell) const {
    const auto value = parse_double(cell);
    if (value && *value >= 0) return *value;
    if (value) table_.fail(row_, fmt::format("{}: {} is negative", column, cell));
    std::string with_point = cell;
    std::replace(with_point.begin(), with_point.end(), ',', '.');
    if (cell.find(',') != std::string::npos && parse_double(with_point))
      table_.fail(row_,
                  fmt::format("{}: '{}' has a comma: write {} with a point, and no comma between thousands", column, cell, with_point));
    table_.fail(row_, fmt::format("{}: '{}' is not a number; leave the cell empty if the value is missing", column, cell));
  }

  const CsvTable& table_;
  const Mapping& mapping_;
  const CsvRow& row_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, int64_t> counts_;
  std::map<std::string, Printed> numbers_;
};

Placement placement_of(const RowReader& row) {
  Placement placement;
  const bool cpu = row.text("device_kind", "gpu") == "cpu";
  placement.devices.clear();
  for (int i = 0; i < row.count("device_count", 1); ++i) placement.devices.push_back({"", cpu ? "cpu" : "cuda", i});
  return placement;
}

// Returns the environment as a worker would report it, so that identity_of() finds the device.
Facts environment_of(const RowReader& row, const Placement& placement) {
  Facts facts;
  const std::string name = row.text("device_name");
  if (name.empty()) return facts;
  for (const DeviceId& device : placement.devices) {
    if (device.kind != "cpu") facts.emplace(fmt::format("gpu.{}{}.name", device.kind, device.index), name);
  }
  if (!facts.empty()) return facts;
  facts.emplace("cpu.model", name);
  std::vector<std::string> cpus;
  for (int64_t i = 0; i < row.count("threads", 1); ++i) cpus.push_back(std::to_string(i));
  facts.emplace("cpus.allowed", join(cpus, ","));
  return facts;
}

Point point_of(const RowReader& row, const std::string& source) {
  Point point;
  point.task = row.one_of(all_tasks, "task", point.task);
  point.model = row.text("model");
  point.weights = row.text("weights", "published");
  point.dataset = row.text("dataset", "published");
  point.backend = row.text("backend", "unknown");
  point.placement = placement_of(row);
  point.precision = row.one_of(all_precisions, "precision", point.precision);
  point.batch = row.count("batch", 0);
  point.scenario = row.text("scenario", "batch");
  point.threads = static_cast<int>(row.count("threads", 0));
  constexpr std::string_view prefix = "option.";
  for (const auto& [name, value] : row.texts()) {
    if (name.starts_with(prefix)) point.options.emplace(name.substr(prefix.size()), value);
  }
  point.options[published_option] = source;
  return point;
}

std::string row_id(const CsvRow& row, const std::string& source, int64_t number) {
  Hasher hash;
  hash.add(source);
  hash.add_value(number);
  for (const std::string& cell : row.cells) hash.add(cell);
  return hash.digest();
}

class TableReader {
 public:
  TableReader(const CsvTable& table, const Mapping& mapping, std::string source)
      : table_(table), mapping_(mapping), source_(std::move(source)) {
    check_columns();
  }

  Imported read() {
    for (size_t i = 0; i < table_.rows.size(); ++i) add(table_.rows[i], static_cast<int>(i) + 1);
    if (imported_.records.empty()) throw Error(ErrorKind::input, fmt::format("{}: there is no row below the header", table_.path));
    if (without_batch_ > 0)
      imported_.notes.push_back(fmt::format("{} of {} rows have no batch; it is left empty", without_batch_, imported_.records.size()));
    return std::move(imported_);
  }

 private:
  void check_columns() {
    for (const ColumnMeaning& column : mapping_.columns) {
      if (std::find(table_.header.begin(), table_.header.end(), column.column) == table_.header.end())
        throw Error(ErrorKind::input, fmt::format("{}: {} names a column that is not there: {}", table_.path, mapping_.name,
                                                  unknown_name("column", column.column, table_.header)));
    }
    std::vector<std::string> unread;
    for (const std::string& column : table_.header) {
      if (!mapping_.has_column(column)) unread.push_back(column);
    }
    if (!unread.empty())
      imported_.notes.push_back(fmt::format("not read, since {} does not say what they mean: {}", mapping_.name, join(unread, ", ")));
  }

  void add(const CsvRow& row, int number) {
    const auto [first, is_new] = seen_.emplace(row.cells, number);
    if (!is_new) {
      imported_.notes.push_back(fmt::format("row {} is row {} again: left out", number, first->second));
      return;
    }
    const RowReader cells(table_, mapping_, row);
    std::vector<Contradiction> contradictions = contradictions_in(cells.numbers());
    Record record = record_of(row, cells, number);
    for (Contradiction& each : contradictions) {
      each.row = number;
      each.label = label_of(cells);
      const auto printed = cells.numbers().find(each.meaning);
      record.estimates[each.meaning] = {each.expected * printed->second.factor, {}, {}, 0};
      record.facts[fmt::format("published.contradiction.{}", each.column)] =
          fmt::format("{} row {}: printed {}, expected {} = {}", mapping_.name, number, short_text(each.printed, 6),
                      short_text(each.expected, 4), each.formula);
      imported_.contradictions.push_back(std::move(each));
    }
    imported_.records.push_back(std::move(record));
  }

  // The keys that people find a row by.
  static std::string label_of(const RowReader& cells) {
    std::vector<std::string> parts{cells.text("model"), cells.text("device_name")};
    std::erase(parts, "");
    return join(parts, ", ");
  }

  Record record_of(const CsvRow& row, const RowReader& cells, int number) {
    const std::string source = !source_.empty() ? source_ : cells.text("source", mapping_.source);
    if (source.empty()) table_.fail(row, "the publisher is not given: add --source NAME");
    if (cells.text("model").empty())
      table_.fail(row, "no model: give a column that is the 'model', or model = \"...\" under [all] of the mapping");
    Record record;
    record.record_id = row_id(row, source, number);
    record.run_id = "published:" + source;
    record.study = cells.text("study", mapping_.name);
    record.point = point_of(cells, source);
    record.environment = environment_of(cells, record.point.placement);
    record.repeat = repeats_[{record.point, cells.text("device_name")}]++;
    record.verdict = verdict_of(row, cells.text("verdict", "valid"));
    record.unchecked = true;
    record.reason = "published by " + source + ", not measured here";
    record.backend_version = cells.text("backend_version");
    record.facts["published.source"] = source;
    if (const std::string currency = cells.text("currency"); !currency.empty()) record.facts[published_currency_fact] = currency;
    if (record.point.batch == 0) ++without_batch_;
    for (const auto& [name, printed] : cells.numbers()) {
      if (meaning_of_number(name)) record.estimates[name] = {printed.value, {}, {}, 0};
    }
    return record;
  }

  Verdict verdict_of(const CsvRow& row, const std::string& name) const {
    const auto verdict = verdict_from(name);
    if (!verdict) table_.fail(row, fmt::format("invalid value '{}' for verdict: expected a verdict such as valid or invalid", name));
    return *verdict;
  }

  bool meaning_of_number(const std::string& name) const {
    return std::any_of(mapping_.columns.begin(), mapping_.columns.end(), [&](const ColumnMeaning& column) {
      return column.meaning.name == name && (column.meaning.kind == Meaning::Kind::number || name == "items");
    });
  }

  const CsvTable& table_;
  const Mapping& mapping_;
  std::string source_;
  Imported imported_;
  std::map<std::vector<std::string>, int> seen_;
  std::map<std::pair<Point, std::string>, int> repeats_;
  int64_t without_batch_ = 0;
};

}  // namespace

Imported import_csv(const CsvTable& table, const Mapping& mapping, const std::string& source) {
  return TableReader(table, mapping, source).read();
}

}  // namespace deepgap
