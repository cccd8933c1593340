// Reads what MLPerf publishes, as tables in deepgap's own words, which import_csv() takes: LoadGen's summary of a run
// (mlperf_log_summary.txt), the results of a round as the submission checker lists them (summary.csv: a row for each system, model and
// scenario), and the tree of a submission.
#pragma once

#include "published/csv.h"

#include <string>

namespace deepgap {

// Reads either file, by its content. Throws Error{input}: it is neither, or LoadGen's run of accuracy, which has no speed.
CsvTable mlperf_table(const std::string& text, const std::string& path);

// Reads the tree that the submission checker reads: a row for each run of performance, with the facts from systems/ and measurements.
// Audits' runs are left out. Throws Error{input}: there is none in it.
CsvTable mlperf_tree_table(const std::string& folder);

}  // namespace deepgap
