#include "published/csv.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <set>

namespace deepgap {
namespace {

[[noreturn]] void fail_at(const std::string& path, int line, const std::string& cause) {
  throw Error(ErrorKind::input, fmt::format("{}:{}: {}", path, line, cause));
}

// False: there are no more rows.
bool next_row(CsvReader& reader, const std::string& path, CsvRow& row) {
  if (!reader.next(row)) return false;
  if (row.is_broken) fail_at(path, row.line, "text behind a cell's closing quote");
  return true;
}

void check_header(const CsvTable& table, int line) {
  if (table.header.size() == 1 && table.header[0].find_first_of(";\t") != std::string::npos)
    fail_at(table.path, line, "the columns are separated by ';' or tabs: write commas, and points in numbers");
  std::set<std::string> seen;
  for (const std::string& column : table.header) {
    if (column.empty()) fail_at(table.path, line, "a column has no name");
    if (!seen.insert(column).second) fail_at(table.path, line, fmt::format("two columns are named '{}'", column));
  }
}

}  // namespace

void CsvTable::fail(const CsvRow& row, const std::string& cause) const { fail_at(path, row.line, cause); }

CsvTable parse_csv(const std::string& text, const std::string& path) {
  CsvReader reader(text, path);
  CsvTable table{path, {}, {}};
  CsvRow row;
  if (!next_row(reader, path, row)) throw Error(ErrorKind::input, fmt::format("{}: there is no table in it", path));
  for (const std::string& column : row.cells) table.header.push_back(trim(column));
  check_header(table, row.line);
  while (next_row(reader, path, row)) {
    if (row.cells.size() != table.header.size())
      fail_at(path, row.line,
              fmt::format("{} cells under {} columns; a cell with a comma, a decimal one too, stands in quotes", row.cells.size(),
                          table.header.size()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace deepgap
