// LoadGen's configuration files (mlperf.conf, user.conf, audit.config): lines `model.Scenario.key = value`, tokens apart by spaces, `#` a
// comment's line. Stricter than LoadGen, which drops what it does not understand: every doubt is an Error{input} with file and line.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct ConfEntry {
  std::string model, scenario;  // "*": any
  std::string key, value;
  int line = 0;
};

class ConfFile {
 public:
  // `source` is named in errors: no such line, scenario or key; a value that is no number; a key that is set twice.
  static ConfFile parse(const std::string& text, const std::string& source);

  // Returns what holds for `model` and `scenario` (as LoadGen spells it), by key: an entry for both before one for the scenario, that
  // before one for the model, that before one for all.
  std::map<std::string, ConfEntry> entries_for(const std::string& model, const std::string& scenario) const;
  const std::vector<ConfEntry>& entries() const { return entries_; }  // in the file's order
  const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::vector<ConfEntry> entries_;
};

}  // namespace deepgap
