// The calibration table: the range of every observed activation, kept as text so that it can be read, edited, versioned and used again
// without the Dataset. DEEP-GAP calls it the calibration cache. docs/reference/files.md describes the format.
#pragma once

#include "quantize/range.h"

#include <map>
#include <string>

namespace deepgap {

struct CalibrationTable {
  std::string model_hash;               // content_hash of the FP32 Model: a table of another network or other weights is refused
  std::string model;                    // its name, for people
  std::string method;                   // with its percentile
  std::string dataset;                  // as the Dataset describes itself
  std::map<std::string, Range> ranges;  // by the name of the value

  bool operator==(const CalibrationTable&) const = default;
};

std::string table_text(const CalibrationTable& table);
// Throws Error{input} naming `path` and the line: no table, another version, a range that is NaN, infinite or does not hold zero.
CalibrationTable parse_table(const std::string& text, const std::string& path);
CalibrationTable read_table(const std::string& path);
void write_table(const std::string& path, const CalibrationTable& table);

}  // namespace deepgap
