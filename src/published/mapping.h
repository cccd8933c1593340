// Mapping: what the columns of a published table mean, in deepgap's words. A TOML file (docs/reference/files.md has the format); those for
// the studies' tables are packed and recognised by their columns. Plain values and pure functions; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace deepgap {

// The meaning of a column. Texts and counts are parts of a Point (model, precision, batch, device_name, option.NAME); every other meaning
// is a metric by its id, or metric.NAME for what deepgap does not measure.
struct Meaning {
  enum class Kind { text, count, number, ignored };
  std::string name;
  Kind kind = Kind::text;
  std::string unit;  // unit in which deepgap keeps a number
};
// Throws Error{usage} naming what is near.
Meaning meaning_of(const std::string& name);

struct ColumnMeaning {
  std::string column;
  Meaning meaning;
  double factor = 1;                          // printed value times this is in the meaning's unit
  std::map<std::string, std::string> values;  // printed text -> deepgap's; of texts
};

struct Mapping {
  std::string name;                        // for people: "v100-p100-cost"
  std::string source;                      // used if no column names it
  std::map<std::string, std::string> all;  // meanings that all rows share
  std::vector<ColumnMeaning> columns;      // a column may have several meanings

  bool has_column(const std::string& column) const;
};

// Throws Error{usage|input} "FILE:LINE: cause": an unknown meaning, a unit that does not fit.
Mapping read_mapping(const std::string& text, const std::string& label);

// The packed Mapping that has exactly these columns; else one that takes the columns by their names where all of them are meanings. Throws
// Error{input} naming what no Mapping knows.
Mapping mapping_for(const std::vector<std::string>& header, const std::string& path);

// Returns the factor that turns a value in `unit` into the meaning's unit; throws Error{usage} where it does not fit.
double unit_factor(const std::string& unit, const Meaning& meaning);

}  // namespace deepgap
