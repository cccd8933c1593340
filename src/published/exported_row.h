// A row of `deepgap export` by its columns.
#pragma once

#include "base/text.h"
#include "published/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// Remembers what was taken: what is left is a metric.
class ExportedRow {
 public:
  ExportedRow(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}

  std::string text(const std::string& column) {
    taken_.insert(column);
    const auto at = std::find(table_.header.begin(), table_.header.end(), column);
    return at == table_.header.end() ? "" : plain(row_.cells[static_cast<size_t>(at - table_.header.begin())]);
  }
  std::optional<double> number(const std::string& column) {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    const auto value = parse_double(cell);
    if (!value) fail(fmt::format("{}: '{}' is not a number", column, cell));
    return value;
  }
  std::optional<int64_t> whole(const std::string& column) {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    const auto value = parse_int(cell);
    if (!value) fail(fmt::format("{}: '{}' is not a whole number", column, cell));
    return value;
  }
  // Returns what `from` makes of the text.
  template <typename From>
  auto named(const std::string& column, const From& from, const char* expected) {
    const std::string name = text(column);
    const auto known = from(name);
    if (!known) fail(fmt::format("invalid value '{}' for {}: expected {}", name, column, expected));
    return *known;
  }
  bool yes(const std::string& column) { return text(column) == "true"; }
  bool took(const std::string& column) const { return taken_.contains(column); }
  // Columns that nobody asked for and that hold something.
  std::vector<std::string> left() const {
    std::vector<std::string> columns;
    for (size_t i = 0; i < table_.header.size(); ++i) {
      if (!taken_.contains(table_.header[i]) && !row_.cells[i].empty()) columns.push_back(table_.header[i]);
    }
    return columns;
  }
  [[noreturn]] void fail(const std::string& cause) const { table_.fail(row_, cause); }

 private:
  // An export puts an apostrophe before what a spreadsheet would compute.
  static std::string plain(const std::string& cell) {
    const bool marked = cell.size() > 1 && cell[0] == '\'' && std::string_view("=+-@\t\r").find(cell[1]) != std::string_view::npos;
    return marked ? cell.substr(1) : cell;
  }

  const CsvTable& table_;
  const CsvRow& row_;
  std::set<std::string> taken_;
};

}  // namespace deepgap
