// SQLite as C++: a connection and prepared statements that throw Error. Only for src/store. Not thread-safe: one thread at a time.
#pragma once

#include <deepgap/error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace deepgap {

class Database {
 public:
  enum class Open { read, read_immutable, write };

  // `path` is taken literally (no URI, no ":memory:"). Throws Error{input}.
  Database(const std::string& path, Open how);
  // Called by the source's path. Throws Error{input} where that cannot be read.
  static std::unique_ptr<Database> copy_in_memory(Database& source);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Sets the kind of failures from now on: input while a file is examined, store once Records are written to it.
  void fail_as(ErrorKind kind) { kind_ = kind; }
  void execute(const char* sql);  // one or several statements
  std::string query_text(const char* sql);
  int64_t query_int(const char* sql);
  bool in_transaction() const;
  int64_t last_insert_id() const;
  [[noreturn]] void fail(int code) const;
  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }

 private:
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  sqlite3* handle_ = nullptr;
  ErrorKind kind_ = ErrorKind::input;
  bool is_for_writing_ = false;
};

// Parameters and columns count from 0. A SqlStatement must not outlive its Database.
class SqlStatement {
 public:
  SqlStatement(Database& database, const char* sql);
  ~SqlStatement();
  SqlStatement(const SqlStatement&) = delete;
  SqlStatement& operator=(const SqlStatement&) = delete;

  // Text and blobs are copied.
  SqlStatement& bind(int index, int64_t value);
  SqlStatement& bind(int index, double value);  // NaN becomes NULL: SQLite has none
  SqlStatement& bind(int index, std::string_view text);
  SqlStatement& bind_blob(int index, std::string_view bytes);
  SqlStatement& bind_null(int index);
  template <typename T>
  SqlStatement& bind(int index, const std::optional<T>& value) {
    return value ? bind(index, *value) : bind_null(index);
  }

  bool step();  // true: there is a row
  void run();   // for statements without rows; resets
  void reset();

  int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;  // valid until the next step; also for blobs
  bool is_null(int column) const;
  std::optional<double> optional_real(int column) const;
  std::optional<int64_t> optional_integer(int column) const;

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Rolls back unless commit() was reached. Inside a transaction that is open already it does nothing: that one decides.
class Transaction {
 public:
  Transaction(Database& database, const char* begin);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = false;
};

}  // namespace deepgap
