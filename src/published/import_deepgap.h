// Reads what `deepgap export` wrote, rows of CSV or JSON, as Records again. Exported once more, they give the same rows. They are what was
// measured, not what somebody published; raw timings and series are not in rows. Pure functions; any thread.
#pragma once

#include "published/csv.h"
#include "published/import_csv.h"

#include <string>

namespace deepgap {

// The columns are those of an export.
bool is_export(const CsvTable& table);

// A JSON export as a table of the same rows. Throws Error{input}: no JSON, no list of objects.
CsvTable parse_export_json(const std::string& text, const std::string& path);

// Throws Error{input} "FILE:LINE: cause": a cell that cannot be what its column is, a record that is in it twice. A row by point becomes
// one averaged Record (record/averaged.h), and a note says so.
Imported import_deepgap(const CsvTable& table);

}  // namespace deepgap
