// Published tables as Records. A Record from a table has what was printed, recomputed where the table contradicts itself (what was printed
// is then among its facts), and says who published it: its Point has the option `published`, so that it is never a repeat of one that was
// measured, and it is `unchecked`. Pure functions; any thread.
#pragma once

#include "published/csv.h"
#include "published/mapping.h"
#include "published/relations.h"

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

struct Imported {
  std::vector<Record> records;
  std::vector<Contradiction> contradictions;  // in order of rows
  std::vector<std::string> notes;             // a line each: rows that are twice in it, columns that nobody reads
};

// `source` goes before what the table and the Mapping say; one of them must. Throws Error{input} "FILE:LINE: cause": a cell that is no
// number, a decimal comma, a negative value, a batch that is no count, no model, no source.
Imported import_csv(const CsvTable& table, const Mapping& mapping, const std::string& source);

}  // namespace deepgap
