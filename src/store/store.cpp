#include "store/store.h"

#include "record/profile_block.h"
#include "record/timing_block.h"
#include "store/naming.h"
#include "store/record_rows.h"
#include "store/schema.h"
#include "store/sqlite.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace deepgap {
namespace {

std::string block_of(Database& database, const char* sql, const std::string& record_id) {
  SqlStatement statement(database, sql);
  statement.bind(0, record_id);
  return statement.step() ? std::string(statement.text(0)) : std::string();
}

}  // namespace

struct Store::State {
  std::string path;
  std::unique_ptr<Database> database;  // first: the statements of the writer go before it
  std::optional<RecordWriter> writer;  // none in Mode::read
};

Store::Store(const std::string& path, Mode mode) : state_(std::make_unique<State>()) {
  state_->path = path;
  if (mode == Mode::read) {
    state_->database = open_store_for_reading(path);
  } else {
    state_->database = open_store_for_appending(path);
    state_->writer.emplace(*state_->database);
  }
}

Store::~Store() = default;

void Store::append(const Record& record) { append(std::span(&record, 1)); }

void Store::append(std::span<const Record> records) {
  if (!state_->writer) throw Error(ErrorKind::internal, "a store opened for reading was asked to append");
  // Inside each() there is a transaction that will be rolled back, and the Records with it.
  if (state_->database->in_transaction()) throw Error(ErrorKind::internal, "append() was called from inside each()");
  Transaction transaction(*state_->database, "BEGIN IMMEDIATE");
  try {
    for (const Record& record : records) state_->writer->write(record, encode_blocks(record));
    transaction.commit();
  } catch (...) {
    state_->writer->forget();
    throw;
  }
}

int64_t Store::size() const { return state_->database->query_int("SELECT count(*) FROM records"); }

std::set<std::pair<std::string, int>> Store::finished() const {
  SqlStatement statement(*state_->database,
                         "SELECT p.point_id, r.repeat FROM records r JOIN points p ON p.id = r.point WHERE r.outcome <> 'interrupted'");
  std::set<std::pair<std::string, int>> pairs;
  while (statement.step()) pairs.emplace(statement.text(0), static_cast<int>(statement.integer(1)));
  return pairs;
}

void Store::each(const std::function<void(Record&&)>& visit) const {
  Transaction snapshot(*state_->database, "BEGIN");  // all tables as of one moment, while another process appends
  const auto reader = naming(state_->path, [&] { return std::make_unique<RecordReader>(*state_->database); });
  while (naming(state_->path, [&] { return reader->next(); })) visit(std::move(reader->lend()));
}

void Store::look(const std::function<void(const Record&)>& visit) const {
  Transaction snapshot(*state_->database, "BEGIN");
  const auto reader = naming(state_->path, [&] { return std::make_unique<RecordReader>(*state_->database); });
  while (naming(state_->path, [&] { return reader->next(); })) visit(reader->record());
}

std::vector<Timing> Store::timings(const std::string& record_id) const {
  const std::string block =
      block_of(*state_->database, "SELECT b.timings FROM blocks b JOIN records r ON r.id = b.record WHERE r.record_id = ?", record_id);
  return block.empty() ? std::vector<Timing>() : naming(state_->path, [&] { return decode_timings(block); });
}

std::vector<Series> Store::series(const std::string& record_id) const {
  const std::string block =
      block_of(*state_->database, "SELECT b.series FROM blocks b JOIN records r ON r.id = b.record WHERE r.record_id = ?", record_id);
  return block.empty() ? std::vector<Series>() : naming(state_->path, [&] { return decode_series(block); });
}

void Store::keep_profile(const std::string& record_id, std::string_view json) {
  if (!state_->writer) throw Error(ErrorKind::internal, "a store opened for reading was asked to keep a profile");
  Database& database = *state_->database;
  Transaction transaction(database, "BEGIN IMMEDIATE");
  SqlStatement find(database, "SELECT id FROM records WHERE record_id = ?");
  find.bind(0, record_id);
  if (!find.step()) throw Error(ErrorKind::store, "there is no record " + record_id + " to keep a profile beside");
  const int64_t row = find.integer(0);
  find.reset();
  const std::string block = encode_profile(json);
  SqlStatement insert(database, "INSERT OR REPLACE INTO profiles(record, profile) VALUES(?,?)");
  insert.bind(0, row).bind_blob(1, block).run();
  transaction.commit();
}

std::string Store::profile(const std::string& record_id) const {
  if (!keeps_profiles(*state_->database)) return {};
  const std::string block =
      block_of(*state_->database, "SELECT p.profile FROM profiles p JOIN records r ON r.id = p.record WHERE r.record_id = ?", record_id);
  return block.empty() ? std::string() : naming(state_->path, [&] { return decode_profile(block); });
}

std::set<std::string> Store::profiled() const {
  std::set<std::string> ids;
  if (!keeps_profiles(*state_->database)) return ids;
  SqlStatement statement(*state_->database, "SELECT r.record_id FROM profiles p JOIN records r ON r.id = p.record");
  while (statement.step()) ids.emplace(statement.text(0));
  return ids;
}

namespace {

// `statement` is run for each Record with its id as the first parameter, in one transaction; the change in the number of annotations.
template <typename Bind>
int64_t change_annotations(Database& database, std::span<const std::string> record_ids, const char* sql, const Bind& bind) {
  constexpr const char* count = "SELECT count(*) FROM remarks";
  Transaction transaction(database, "BEGIN IMMEDIATE");
  const int64_t before = database.query_int(count);
  SqlStatement statement(database, sql);
  for (const std::string& id : record_ids) {
    statement.bind(0, id);
    bind(statement);
    statement.run();
  }
  const int64_t change = database.query_int(count) - before;
  transaction.commit();
  return change;
}

}  // namespace

int64_t Store::annotation(std::span<const std::string> record_ids, AnnotationKind kind, const std::string& text) {
  if (!state_->writer) throw Error(ErrorKind::internal, "a store opened for reading was asked to keep a remark");
  return change_annotations(*state_->database, record_ids,
                            "INSERT OR IGNORE INTO remarks(record, kind, text) SELECT id, ?2, ?3 FROM records WHERE record_id = ?1",
                            [&](SqlStatement& s) { s.bind(1, name_of(kind)).bind(2, text); });
}

int64_t Store::remove_annotation(std::span<const std::string> record_ids, AnnotationKind kind, const std::optional<std::string>& text) {
  if (!state_->writer) throw Error(ErrorKind::internal, "a store opened for reading was asked to take a remark back");
  return -change_annotations(
      *state_->database, record_ids,
      "DELETE FROM remarks WHERE record = (SELECT id FROM records WHERE record_id = ?1) AND kind = ?2 AND "
      "text = coalesce(?3, text)",
      [&](SqlStatement& s) { text ? s.bind(1, name_of(kind)).bind(2, *text) : s.bind(1, name_of(kind)).bind_null(2); });
}

std::unordered_map<std::string, int64_t> Store::timing_counts() const {
  SqlStatement statement(*state_->database, "SELECT record_id, timings FROM records");
  std::unordered_map<std::string, int64_t> counts;
  while (statement.step()) counts.emplace(statement.text(0), statement.integer(1));
  return counts;
}

std::vector<std::string> Store::metric_ids() const {
  SqlStatement statement(*state_->database, "SELECT name FROM metric_names ORDER BY name");
  std::vector<std::string> ids;
  while (statement.step()) ids.emplace_back(statement.text(0));
  return ids;
}

}  // namespace deepgap
