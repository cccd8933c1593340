// Selection: which Records of a Store are meant: "backend=native;batch=8", over the export's columns and the Points' options. All must
// hold; several values of one are separated by |.
#pragma once

#include <deepgap/record.h>

#include <set>
#include <string>
#include <vector>

namespace deepgap {

class Selection {
 public:
  // Empty: every Record. Throws Error{usage} for what is no list of key=value, and for a key that is no column and cannot be an option.
  explicit Selection(const std::string& text = "");

  bool holds(const Record& record) const;
  std::set<std::string> keys() const;

 private:
  struct Condition {
    std::string key;
    std::vector<std::string> values;
  };
  std::vector<Condition> conditions_;
};

}  // namespace deepgap
