// Tables as CSV: a header line, then a row a line (base/csv_reader.h). Pure; any thread.
#pragma once

#include "base/csv_reader.h"

#include <string>
#include <vector>

namespace deepgap {

struct CsvTable {
  std::string path;  // for errors
  std::vector<std::string> header;
  std::vector<CsvRow> rows;  // each with as many cells as the header; empty lines are passed over

  // "FILE:LINE: cause" as Error{input}.
  [[noreturn]] void fail(const CsvRow& row, const std::string& cause) const;
};

// Throws Error{input}: nothing in it, another separator, a column twice, a row that is longer or shorter, a quote that does not end.
CsvTable parse_csv(const std::string& text, const std::string& path);

}  // namespace deepgap
