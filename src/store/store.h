// Store: the SQLite file that Records go to (docs/reference/database.md has the schema). One process writes, any number read.
//
// Commits go to a write-ahead log that is synced each time: what append() returned for survives a kill of the process at any moment and,
// where the disk keeps its promises, a power cut. A Store object is used by one thread at a time.
#pragma once

#include "store/annotations.h"

#include <deepgap/record.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

  // Durable when it returns; all or nothing. Throws Error{store} when it cannot be written any more, or when it has a Record of that
  // record_id already.
  void append(const Record& record);
  void append(std::span<const Record> records);  // in one transaction: rows that belong together, or very many
  int64_t size() const;
  // (point_id, repeat) of every Record that need not be measured again (all but `interrupted`).
  std::set<std::pair<std::string, int>> finished() const;
  // Every Record in order of insertion, without timings and series. Throws Error{input} where the file is damaged.
  void each(const std::function<void(Record&&)>& visit) const;
  // Visits Records for those who only look, which is quicker. The Record is valid during the visit.
  void look(const std::function<void(const Record&)>& visit) const;
  std::vector<Timing> timings(const std::string& record_id) const;  // empty where a compact copy left them out
  std::vector<Series> series(const std::string& record_id) const;

  // A profile of a Record's Point, as JSON (profile/stored_profile.h): one for each Record at most, a later one takes its place. Durable
  // when it returns. Throws Error{store} where it cannot be written or there is no such Record.
  void keep_profile(const std::string& record_id, std::string_view json);
  std::string profile(const std::string& record_id) const;  // empty where there is none; throws Error{input} where it is damaged
  std::set<std::string> profiled() const;                   // by record_id

  // Says it of these Records, those that are not in the Store passed over; durable when it returns. How many of them had not got it.
  // Throws Error{store} where it cannot be written.
  int64_t annotation(std::span<const std::string> record_ids, AnnotationKind kind, const std::string& text);
  // Takes it back, or, without a text, all annotations of this kind. How many went.
  int64_t remove_annotation(std::span<const std::string> record_ids, AnnotationKind kind, const std::optional<std::string>& text);

  // Returns how many timings each Record's run kept, by record_id; a compact Store still knows.
  std::unordered_map<std::string, int64_t> timing_counts() const;
  std::vector<std::string> metric_ids() const;  // metrics that any Record has

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct CopyOptions {
  bool compact = false;                       // without raw timings and series
  bool anonymous = false;                     // without host names, serials, user names and paths
  std::function<bool(const Record&)> wanted;  // selects Records; empty: all
  // Called with each Record and its timings and series, which it may not change. A Store without these is then an Error{input}.
  std::function<void(Record&)> revise;
};
// Writes a new Store of one file, in the smallest form. `to` appears whole or not at all. Throws Error{input} where `from` cannot be read
// or `to` exists already, Error{store} when it cannot be written.
void copy_store(const std::string& from, const std::string& to, const CopyOptions& options);

// Removes what --anonymous promises, in place. Also used by report and CSV export. A Point whose content changes gets another point_id.
void anonymize(Record& record);

// A kept profile without what an anonymous copy leaves out: why something was missing, which may name files. Throws Error{input}.
std::string anonymous_profile(const std::string& json);

// Makes many Records anonymous: a name that one of them gives away goes from all that come after learn() or apply() saw it. What was worked
// out for an environment is kept for the next Record that has it. One thread.
class Anonymizer {
 public:
  Anonymizer();
  ~Anonymizer();
  Anonymizer(const Anonymizer&) = delete;
  Anonymizer& operator=(const Anonymizer&) = delete;
  void learn(const Record& record);
  void apply(Record& record);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace deepgap
