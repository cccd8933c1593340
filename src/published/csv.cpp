#include "published/csv.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <set>
#include <string_view>

namespace deepgap {
namespace {

[[noreturn]] void fail_at(const std::string& path, int line, const std::string& cause) {
  throw Error(ErrorKind::input, fmt::format("{}:{}: {}", path, line, cause));
}

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& path) : text_(text), path_(path) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // some programs begin UTF-8 so
  }

  bool next(CsvRow& row) {
    while (at_ < text_.size() && end_of_line()) {
    }
    if (at_ >= text_.size()) return false;
    row = {line_, {}};
    do row.cells.push_back(cell());
    while (separator());
    if (at_ < text_.size() && !end_of_line()) fail_at(path_, line_, "text behind a cell's closing quote");
    return true;
  }

 private:
  bool separator() {
    const bool is = at_ < text_.size() && text_[at_] == ',';
    at_ += is ? 1 : 0;
    return is;
  }
  bool end_of_line() {
    if (text_.substr(at_, 2) == "\r\n") {
      at_ += 2;
    } else if (text_[at_] == '\n' || text_[at_] == '\r') {
      ++at_;
    } else {
      return false;
    }
    ++line_;
    return true;
  }
  std::string cell() {
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string cell(text_.substr(at_, end - at_));
    at_ = end;
    return cell;
  }
  std::string quoted() {
    const int begun = line_;
    std::string cell;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        if (at_ >= text_.size() || text_[at_] != '"') return cell;
      }
      line_ += text_[at_] == '\n' ? 1 : 0;
      cell += text_[at_];
    }
    fail_at(path_, begun, "a quote begins here and does not end");
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
  int line_ = 1;
};

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
  if (!reader.next(row)) throw Error(ErrorKind::input, fmt::format("{}: there is no table in it", path));
  for (const std::string& column : row.cells) table.header.push_back(trim(column));
  check_header(table, row.line);
  while (reader.next(row)) {
    if (row.cells.size() != table.header.size())
      fail_at(path, row.line,
              fmt::format("{} cells under {} columns; a cell with a comma, a decimal one too, stands in quotes", row.cells.size(),
                          table.header.size()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace deepgap
