#include "store/schema.h"

#include "base/text.h"
#include "store/migrate.h"
#include "store/views.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace deepgap {
namespace {

// Version 1. What later ones have more is in step_from(), so that a new Store and one that was brought up to date are the same.
constexpr const char* tables = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs(id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, study TEXT NOT NULL, UNIQUE(run_id, study));
CREATE TABLE environments(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, json TEXT NOT NULL);
CREATE TABLE settings(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, json TEXT NOT NULL);
CREATE TABLE points(id INTEGER PRIMARY KEY, point_id TEXT NOT NULL UNIQUE, task TEXT NOT NULL, model TEXT NOT NULL,
  backend TEXT NOT NULL, device TEXT NOT NULL, precision TEXT NOT NULL, batch INTEGER NOT NULL, scenario TEXT NOT NULL,
  threads INTEGER NOT NULL, json TEXT NOT NULL);
CREATE TABLE records(id INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL REFERENCES runs(id),
  point INTEGER NOT NULL REFERENCES points(id), environment INTEGER NOT NULL REFERENCES environments(id),
  settings INTEGER NOT NULL REFERENCES settings(id), repeat INTEGER NOT NULL, sweep INTEGER NOT NULL, tenant TEXT NOT NULL,
  rank INTEGER NOT NULL, started_unix_ns INTEGER NOT NULL, outcome TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,
  unchecked INTEGER NOT NULL, load_s REAL, compile_s REAL, first_result_ms REAL, device_reserved_bytes INTEGER NOT NULL,
  device_in_use_bytes INTEGER NOT NULL, device_peak_bytes INTEGER NOT NULL, host_memory_peak_bytes INTEGER,
  warmup_queries INTEGER NOT NULL, timings INTEGER NOT NULL, timings_dropped INTEGER NOT NULL, check_against TEXT,
  check_samples INTEGER, check_max_abs_error REAL, check_mean_abs_error REAL, check_sqnr_db REAL, check_top1_agreement REAL,
  check_min_sqnr_db REAL, check_pass INTEGER, windows TEXT NOT NULL, facts TEXT NOT NULL, momentary TEXT NOT NULL, stderr_tail TEXT NOT NULL);
CREATE TABLE metric_names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE metric_values(record INTEGER NOT NULL REFERENCES records(id), metric INTEGER NOT NULL REFERENCES metric_names(id),
  value REAL, low REAL, high REAL, n INTEGER NOT NULL, PRIMARY KEY(record, metric)) WITHOUT ROWID;
CREATE TABLE blocks(record INTEGER PRIMARY KEY REFERENCES records(id), timings BLOB, series BLOB);
CREATE VIEW metrics AS SELECT r.record_id AS record_id, m.name AS id, v.value, v.low, v.high, v.n
  FROM metric_values v JOIN metric_names m ON m.id = v.metric JOIN records r ON r.id = v.record;
)";

// Selects rows of `records` before version 4, which knew no as_found: a valid run that was ended by a count, a time or the end of its
// samples, or whose fact says so, and was judged by no bound, no load (which open loops alone have), no round's rules and no duel.
constexpr const char* is_as_found =
    "verdict = 'valid' AND (json_extract(facts, '$.as_found') IS NOT NULL OR settings IN "
    "(SELECT id FROM settings WHERE json_extract(json, '$.stopping.name') IN ('counts', 'duration', 'schedule'))) AND point NOT IN "
    "(SELECT id FROM points WHERE coalesce(json_extract(json, '$.options.bound'), json_extract(json, '$.options.mlperf'), "
    "json_extract(json, '$.options.duel'), json_extract(json, '$.options.published')) IS NOT NULL) AND id NOT IN "
    "(SELECT record FROM metric_values WHERE metric = (SELECT id FROM metric_names WHERE name = 'offered_rate'))";

// Returns the step to the next version.
std::string step_from(int64_t version) {
  switch (version) {
    case 1:
      return "CREATE TABLE profiles(record INTEGER PRIMARY KEY REFERENCES records(id), profile BLOB NOT NULL);";
    case 2:
      return "CREATE TABLE remarks(record INTEGER NOT NULL REFERENCES records(id), kind TEXT NOT NULL, text TEXT NOT NULL, "
             "PRIMARY KEY(record, kind, text)) WITHOUT ROWID;";
    default:
      return fmt::format("UPDATE records SET verdict = 'as_found' WHERE {};", is_as_found);
  }
}

std::string failure(const std::string& path, std::string_view cause) { return fmt::format("cannot open store {}: {}", path, cause); }

// SQLite says "unable to open database file" for most of these.
void refuse_what_is_no_file(const std::string& path, bool may_be_absent) {
  if (path.empty()) throw Error(ErrorKind::usage, "the store has no name: give --store a file");
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT && may_be_absent) return;
    throw Error(ErrorKind::input, failure(path, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) throw Error(ErrorKind::input, failure(path, "it is a folder; name a file"));
  if (!S_ISREG(info.st_mode)) throw Error(ErrorKind::input, failure(path, "it is not a regular file"));
  if (::access(path.c_str(), R_OK) != 0) throw Error(ErrorKind::input, failure(path, std::strerror(errno)));
}

void refuse_readonly(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0 && ::access(path.c_str(), W_OK) != 0) {
    throw Error(ErrorKind::input, failure(path, fmt::format("it cannot be written ({})", std::strerror(errno))));
  }
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? std::string(".") : parent.string();
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  const int error = errno;
  const char* remedy = error == ENOENT ? "make the folder first" : "name one in a folder that can be written";
  throw Error(ErrorKind::input, failure(path, fmt::format("its folder {}: {}; {}", folder, std::strerror(error), remedy)));
}

// A file whose maker was killed before the tables stood is as good as none.
bool is_blank(Database& database) {
  return database.query_int("PRAGMA application_id") == 0 && database.query_int("SELECT count(*) FROM sqlite_master") == 0;
}

int64_t version_of(Database& database) {
  const auto version = parse_int(database.query_text("SELECT value FROM meta WHERE key = 'schema'"));
  if (!version || *version < 1) throw Error(ErrorKind::input, failure(database.path(), "it is damaged (its version is missing)"));
  return std::max(*version, database.query_int("PRAGMA user_version"));  // the same number, in the file's header
}

// Throws unless what is read lies in the file: behind a view, a virtual table or a column that is computed there may be more than any
// memory holds, and a trigger would run with every Record.
void require_plain_tables(Database& database, int64_t version) {
  std::vector<std::string_view> needed{"meta",    "runs",         "environments",  "settings", "points",
                                       "records", "metric_names", "metric_values", "blocks"};
  if (version >= 2) needed.emplace_back("profiles");
  if (version >= 3) needed.emplace_back("remarks");
  SqlStatement find(database, "SELECT type, sql FROM sqlite_master WHERE name = ?");
  SqlStatement computed(database, "SELECT count(*) FROM pragma_table_xinfo(?) WHERE hidden <> 0");
  for (const std::string_view name : needed) {
    find.bind(0, name);
    const bool is_there = find.step();
    if (!is_there) throw Error(ErrorKind::input, failure(database.path(), fmt::format("it is damaged (it has no table {})", name)));
    const bool plain = find.text(0) == "table" && find.text(1).starts_with("CREATE TABLE");
    find.reset();
    computed.bind(0, name);
    if (!plain || (computed.step() && computed.integer(0) > 0))
      throw Error(ErrorKind::input, failure(database.path(), fmt::format("it is not a store ({} is not a plain table)", name)));
    computed.reset();
  }
  if (database.query_int("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'") > 0)
    throw Error(ErrorKind::input, failure(database.path(), "it is not a store (it has triggers)"));
}

void check_version(Database& database) {
  const std::string& path = database.path();
  if (is_blank(database)) throw Error(ErrorKind::input, failure(path, "it is not a store (an empty file)"));
  if (database.query_int("PRAGMA application_id") != store_application_id) {
    throw Error(ErrorKind::input, failure(path, "it is not a store (an SQLite file of another program)"));
  }
  if (database.query_int("SELECT count(*) FROM sqlite_master WHERE name = 'meta' AND type = 'table' AND sql LIKE 'CREATE TABLE%'") == 0) {
    throw Error(ErrorKind::input, failure(path, "it is damaged (its version is missing)"));
  }
  const int64_t version = version_of(database);
  if (version > store_schema_version) {
    throw Error(ErrorKind::input,
                failure(path, fmt::format("made by a newer deepgap (schema {}; this one knows {})", version, store_schema_version)));
  }
  require_plain_tables(database, version);
}

void add_missing_tables(Database& database, int64_t version) {
  for (; version < store_schema_version; ++version) database.execute(step_from(version).c_str());
  database.execute(fmt::format("PRAGMA user_version = {};", store_schema_version).c_str());
  SqlStatement insert(database, "INSERT OR REPLACE INTO meta(key, value) VALUES('schema', ?)");
  insert.bind(0, std::to_string(store_schema_version)).run();
}

// All of it or nothing, so that a kill leaves a Store of the one version or of the other.
void bring_up_to_date(Database& database) {
  Transaction transaction(database, "BEGIN IMMEDIATE");
  if (is_early_shape(database)) reshape(database);
  const int64_t version = version_of(database);
  if (version < store_schema_version) add_missing_tables(database, version);
  database.execute(store_views);  // those that are there stay
  transaction.commit();
}

void make_tables(Database& database) {
  Transaction transaction(database, "BEGIN IMMEDIATE");
  if (!is_blank(database)) return;  // another process was faster
  database.execute(fmt::format("PRAGMA application_id = {};", store_application_id).c_str());
  database.execute(tables);
  add_missing_tables(database, 1);
  database.execute(store_views);
  transaction.commit();
}

bool has_log(const std::string& path) {
  struct stat info {};
  return ::stat((path + "-wal").c_str(), &info) == 0 && info.st_size > 0;
}

}  // namespace

bool keeps_profiles(Database& database) { return version_of(database) >= 2; }
bool keeps_annotations(Database& database) { return version_of(database) >= 3; }

std::string verdict_column(Database& database) {
  return version_of(database) >= 4 ? "verdict" : fmt::format("CASE WHEN {} THEN 'as_found' ELSE verdict END", is_as_found);
}

std::unique_ptr<Database> open_store_for_reading(const std::string& path) {
  refuse_what_is_no_file(path, false);
  auto database = std::make_unique<Database>(path, Database::Open::read);
  try {
    database->query_int("PRAGMA application_id");
  } catch (const Error&) {
    // In WAL mode SQLite wants to make files beside it; without a log there is nothing in them that would be missed.
    if (has_log(path)) throw;
    database = std::make_unique<Database>(path, Database::Open::read_immutable);
  }
  check_version(*database);
  if (is_early_shape(*database)) {
    database = Database::copy_in_memory(*database);
    bring_up_to_date(*database);
  }
  return database;
}

std::unique_ptr<Database> open_store_for_appending(const std::string& path, Durability durability) {
  refuse_what_is_no_file(path, true);
  refuse_readonly(path);
  auto database = std::make_unique<Database>(path, Database::Open::write);
  if (!is_blank(*database)) check_version(*database);  // before anything is changed in a file that may not be ours
  if (durability == Durability::draft) {
    database->execute("PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA foreign_keys = OFF;");
    make_tables(*database);
    bring_up_to_date(*database);
    database->fail_as(ErrorKind::store);
    return database;
  }
  if (database->query_text("PRAGMA journal_mode = WAL") != "wal") {
    throw Error(ErrorKind::input, failure(path, "its file system has no shared memory maps, which the write-ahead log needs"));
  }
  // FULL: the log is synced at every commit, so a Record also survives a power cut, as far as the disk keeps what it promises.
  database->execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;");
  make_tables(*database);
  check_version(*database);
  bring_up_to_date(*database);
  // Finds out now rather than after the first measurement whether it can be written.
  Transaction(*database, "BEGIN IMMEDIATE").commit();
  database->fail_as(ErrorKind::store);
  return database;
}

}  // namespace deepgap
