// Records as rows of the tables and back. Only for src/store; one thread.
//
// What many Records share (environment, settings, Point, run) is stored once and found by its content; on the way back each is parsed
// once. That is what makes a Store of 100,000 Records small and quick to read.
#pragma once

#include "store/sqlite.h"

#include <deepgap/record.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace deepgap {

// Timings, series and profile as they rest; kept as they are by a copy.
struct Blocks {
  int64_t timing_count = 0;
  std::string timings, series, profile;  // empty: not kept
};
Blocks encode_blocks(const Record& record);

class RecordWriter {
 public:
  explicit RecordWriter(Database& database);
  // Inside a transaction of the caller, who calls forget() when it fails.
  void write(const Record& record, const Blocks& blocks);
  // The ids that were learnt may be of rows that a rollback took away.
  void forget() { known_.clear(); }

 private:
  int64_t run_of(const Record& record);
  int64_t point_of(const Record& record);
  int64_t shared_json(char table, SqlStatement& find, SqlStatement& insert, const std::string& json);
  int64_t metric_of(const std::string& name);
  template <typename Find, typename Insert>
  int64_t find_or_insert(const std::string& key, SqlStatement& find, const Find& bind_find, SqlStatement& insert,
                         const Insert& bind_insert);

  Database& database_;
  SqlStatement insert_record_, insert_metric_, insert_blocks_, insert_profile_, insert_annotation_;
  SqlStatement find_run_, insert_run_, find_point_, insert_point_, find_environment_, insert_environment_, find_settings_, insert_settings_,
      find_metric_, insert_metric_name_;
  std::unordered_map<std::string, int64_t> known_;  // table letter and content -> row
};

// Reads Records in order of insertion into one object that it owns; what the next Record shares with the last one stays in it.
class RecordReader {
 public:
  explicit RecordReader(Database& database);
  bool next();  // false at the end
  const Record& record() const { return record_; }
  Record& lend();                       // to someone who may change it
  int64_t row() const { return row_; }  // row in the table records

 private:
  struct Settings {
    StoppingSettings stopping;
    std::string backend_version, dataset_description;
    int64_t parameters = 0, macs_per_item = 0, flop_per_item = 0, bytes_per_item = 0;
  };
  struct Run {
    std::string run_id, study;
  };
  void load_shared(Database& database);
  void read_columns();
  void read_shared();
  void read_environment();
  void read_check();
  void read_metrics(int64_t row);
  void step_metrics();
  void read_annotations(int64_t row);
  void step_annotations();
  static Settings parse_settings(std::string_view json);

  SqlStatement records_, metrics_, annotations_;
  std::optional<int64_t> metrics_row_, annotations_row_;  // the record of the row that each stands on; nullopt at the end
  std::unordered_map<int64_t, Facts> environments_;
  std::unordered_map<int64_t, Settings> settings_;
  std::unordered_map<int64_t, Point> points_;
  std::unordered_map<int64_t, Run> runs_;
  std::vector<std::string> metric_names_;  // by row
  struct Kept {
    int64_t environment = -1, settings = -1, point = -1, run = -1;
  } kept_;                              // rows that record_ holds the content of
  std::vector<std::string> momentary_;  // keys that record_.environment has besides those of its row
  Record record_;
  int64_t row_ = 0;
};

// Reads what rests beside one row after the other of the table records.
class BlockReader {
 public:
  explicit BlockReader(Database& database);
  Blocks operator()(int64_t row);

 private:
  SqlStatement select_;
};

}  // namespace deepgap
