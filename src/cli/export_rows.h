// The rows that `deepgap export` writes as CSV or JSON: one for each Record, or for each Point over its repeats.
#pragma once

#include "cli/selection.h"
#include "report/export_table.h"

#include <string>
#include <vector>

namespace deepgap {

struct ExportRows {
  std::vector<std::string> stores;
  Selection selection;
  bool anonymous = false;
  bool by_point = false;
  std::string percentiles, prices, baseline;  // as their flags say it; empty: none
};

// Writes to the file `output`; empty: to standard output. Reports on stderr what is missing in the end. Throws Error{usage | input}.
void write_export_rows(const ExportRows& rows, ExportFormat format, const std::string& output);

}  // namespace deepgap
