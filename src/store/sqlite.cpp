#include "store/sqlite.h"

#include "base/output_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <filesystem>

namespace deepgap {
namespace {

constexpr int busy_timeout_ms = 10'000;  // another process may be checkpointing or appending

// An absolute path cannot be mistaken for ":memory:" or "file:...".
std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

// Only this way may SQLite read a file in WAL mode where it can make no files beside it.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char letter : absolute_path(path)) {
    if (letter == '?' || letter == '#' || letter == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(letter));
    } else {
      uri += letter;
    }
  }
  return uri + "?immutable=1";
}

int open_flags(Database::Open how) {
  switch (how) {
    case Database::Open::read:
      // Opens for writing where possible, so that the last one to close clears the log away; query_only keeps the file from being changed.
      return SQLITE_OPEN_READWRITE;
    case Database::Open::read_immutable:
      return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    default:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
}

std::string cause_of(sqlite3* handle, int code) {
  const int basic = code & 0xff;
  if (basic == SQLITE_NOTADB) return "it is not a store (not an SQLite file)";
  if (basic == SQLITE_CORRUPT) return "it is damaged (" + std::string(sqlite3_errstr(code)) + ")";
  if (basic == SQLITE_BUSY) return "another process keeps it locked";
  const int system = handle == nullptr ? 0 : sqlite3_system_errno(handle);
  const bool of_system = basic == SQLITE_IOERR || basic == SQLITE_CANTOPEN || basic == SQLITE_FULL;
  if (of_system && system != 0) return fmt::format("{} ({})", sqlite3_errstr(code), std::strerror(system));
  return handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle);
}

}  // namespace

Database::Database(const std::string& path, Open how) : path_(path), is_for_writing_(how == Open::write) {
  refuse_foreign_links(path);  // SQLite resolves links itself, so that the kernel's rule does not reach them
  const std::string name = how == Open::read_immutable ? immutable_uri(path) : absolute_path(path);
  const int code = sqlite3_open_v2(name.c_str(), &handle_, open_flags(how) | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    const std::string cause = cause_of(handle_, code);
    sqlite3_close(handle_);
    throw Error(ErrorKind::input, fmt::format("cannot open store {}: {}", path_, cause));
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, busy_timeout_ms);
  if (how == Open::read) sqlite3_exec(handle_, "PRAGMA query_only = ON", nullptr, nullptr, nullptr);
}

std::unique_ptr<Database> Database::copy_in_memory(Database& source) {
  sqlite3* handle = nullptr;
  if (const int code = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr); code != SQLITE_OK) {
    sqlite3_close(handle);
    source.fail(code);
  }
  std::unique_ptr<Database> copy(new Database(source.path_, handle));
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_backup* backup = sqlite3_backup_init(handle, "main", source.handle_, "main");
  const int code = backup == nullptr ? SQLITE_ERROR : sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) source.fail(code);
  return copy;
}

Database::~Database() { sqlite3_close(handle_); }

void Database::fail(int code) const {
  const int basic = code & 0xff;
  const bool is_writing = kind_ == ErrorKind::store || (is_for_writing_ && basic != SQLITE_NOTADB && basic != SQLITE_CORRUPT);
  const char* action = is_writing ? "write to" : "read";
  throw Error(kind_, fmt::format("cannot {} store {}: {}", action, path_, cause_of(handle_, code)));
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::string Database::query_text(const char* sql) {
  SqlStatement statement(*this, sql);
  return statement.step() ? std::string(statement.text(0)) : std::string();
}

int64_t Database::query_int(const char* sql) {
  SqlStatement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }

SqlStatement::SqlStatement(Database& database, const char* sql) : database_(database) {
  const int code = sqlite3_prepare_v3(database.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) database_.fail(code);
}

SqlStatement::~SqlStatement() { sqlite3_finalize(statement_); }

SqlStatement& SqlStatement::bind(int index, int64_t value) {
  sqlite3_bind_int64(statement_, index + 1, value);
  return *this;
}
SqlStatement& SqlStatement::bind(int index, double value) {
  sqlite3_bind_double(statement_, index + 1, value);
  return *this;
}
SqlStatement& SqlStatement::bind(int index, std::string_view text) {
  sqlite3_bind_text64(statement_, index + 1, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}
SqlStatement& SqlStatement::bind_blob(int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement_, index + 1, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}
SqlStatement& SqlStatement::bind_null(int index) {
  sqlite3_bind_null(statement_, index + 1);
  return *this;
}

bool SqlStatement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3_reset(statement_);
  database_.fail(code);
}

void SqlStatement::run() {
  step();
  reset();
}

void SqlStatement::reset() { sqlite3_reset(statement_); }

int64_t SqlStatement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double SqlStatement::real(int column) const { return sqlite3_column_double(statement_, column); }
bool SqlStatement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::string_view SqlStatement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return {bytes == nullptr ? "" : bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::optional<double> SqlStatement::optional_real(int column) const {
  if (is_null(column)) return std::nullopt;
  return real(column);
}
std::optional<int64_t> SqlStatement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

Transaction::Transaction(Database& database, const char* begin) : database_(database) {
  if (database.in_transaction()) return;
  database.execute(begin);
  open_ = true;
}

Transaction::~Transaction() {
  // A failed COMMIT may have rolled back by itself already.
  if (open_ && database_.in_transaction()) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  if (!open_) return;
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace deepgap
