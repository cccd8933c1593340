// Selection: which Records of a Store are meant: "backend=native;batch=8", over the export's columns and the Points' options. All must
// hold; several values of one are separated by |. The flags that say the same are in cli/selection_flags.h.
#pragma once

#include "report/export_table.h"

#include <deepgap/record.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace deepgap {

class Selection {
 public:
  // Selects every Record if `text` is empty. Throws Error{usage} for what is not a list of key=value, and for an impossible key.
  explicit Selection(const std::string& text = "");

  // Requires one of these values; `tag`: a Record that has one of these tags. REQUIRES a key that is a column, or tag.
  void require(const std::string& key, std::vector<std::string> values);
  // Begun at this time or later, and before that; nanoseconds since 1970. `said`: as the user wrote it.
  void since(int64_t unix_ns, const std::string& said);
  void before(int64_t unix_ns, const std::string& said);

  // And all that another asks for.
  void add(const Selection& other) { conditions_.insert(conditions_.end(), other.conditions_.begin(), other.conditions_.end()); }

  bool empty() const { return conditions_.empty(); }
  bool holds(const Record& record) const;
  std::set<std::string> keys() const;

  // Calls its argument with each of the Records that the selection was tried on.
  using EachRecord = std::function<void(const std::function<void(const Record&)>&)>;
  // Returns, as one line, the condition that leaves no Record: "unknown model 'resnet5', did you mean 'resnet50'?".
  std::string why_none(const EachRecord& each) const;

 private:
  struct Condition {
    std::string key;
    std::vector<std::string> values;
    const ExportColumn* column = nullptr;  // nullptr: an option of the Point, its tags, or the time
    int64_t from_unix_ns = std::numeric_limits<int64_t>::min(), to_unix_ns = std::numeric_limits<int64_t>::max();
    std::string said;  // "batch=8", "since 2026-11-23"
  };
  static bool holds(const Condition& condition, const Record& record);
  void require_time(const std::string& key, int64_t from, int64_t to, const std::string& said);

  std::vector<Condition> conditions_;
};

}  // namespace deepgap
