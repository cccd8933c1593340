// The timed queries of Stores as a file: `export --timings`, and `run --export-timings`.
#pragma once

#include "cli/selection.h"

#include <string>
#include <vector>

namespace deepgap {

struct TimingsOf {
  std::vector<std::string> stores;
  Selection selection;
  bool anonymous = false;
  std::string run_id;  // selects one `deepgap run`; empty: all
};

// Writes to the file `output`, empty: to standard output; a row for each query, as CSV or a JSON array. What is missing is reported on
// stderr. Throws Error{usage | input}.
void write_timings(const TimingsOf& of, bool json, const std::string& output);

}  // namespace deepgap
