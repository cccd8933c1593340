// Rows of a CSV text (RFC 4180): cells in quotes may hold commas, quotes and line breaks. What a row must be is for whoever reads a table
// to decide. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

struct CsvRow {
  int line = 0;  // line of the file where the row begins
  std::vector<std::string> cells;
  bool is_broken = false;  // text stands behind a cell's closing quote; the cell has it, too
};

class CsvReader {
 public:
  // `text` outlives it; `path` is for errors.
  CsvReader(std::string_view text, std::string path);
  // Reads the next row that is not an empty line; false: there are no more. Throws Error{input} "PATH:LINE: ..." for a quote that does not
  // end.
  bool next(CsvRow& row);

 private:
  bool separator();
  bool end_of_line();
  std::string cell(bool& is_broken);
  std::string plain();
  std::string quoted();

  std::string_view text_;
  std::string path_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace deepgap
