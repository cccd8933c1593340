// Store: the SQLite file that Records go to (docs/records.md has the schema). One process writes, any number read.
#pragma once

#include <deepgap/record.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

class Store {
 public:
  enum class Mode { read, append };  // append makes the file where there is none

  // Throws Error{input}: not a Store, of a newer version, unreadable, in a read-only folder.
  Store(const std::string& path, Mode mode);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Durable when it returns; all or nothing. Throws Error{store} when it cannot be written any more.
  void append(const Record& record);
  int64_t size() const;
  // (point_id, repeat) of every Record that need not be measured again (all but `interrupted`).
  std::set<std::pair<std::string, int>> finished() const;
  // Every Record in order of insertion, without timings and series.
  void each(const std::function<void(Record&&)>& visit) const;
  std::vector<Timing> timings(const std::string& record_id) const;
  std::vector<Series> series(const std::string& record_id) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct CopyOptions {
  bool compact = false;    // without raw timings and series
  bool anonymous = false;  // without host names, serials, user names and paths
};
void copy_store(const std::string& from, const std::string& to, const CopyOptions& options);
// Removes what --anonymous promises, in place. Also used by report and CSV export.
void anonymize(Record& record);

}  // namespace deepgap
