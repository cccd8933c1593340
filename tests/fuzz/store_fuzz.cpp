// Reading a Store: a good one in which values were exchanged through SQL and bytes were written over, as the input says.
#include "store/store.h"

#include "base/temporary_folder.h"
#include "fuzz.h"
#include "record/example_record.h"

#include <fuzzer/FuzzedDataProvider.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace deepgap;

namespace {

struct Column {
  std::string table, name;
  bool has_rowid;
};

// Where SQLite works quickly: in memory, if there is such a file system.
std::string scratch_path(const char* name) {
  static const TemporaryFolder folder;
  return folder / name;
}

std::string good_store() {
  const std::string path = scratch_path("good.db");
  {
    Store store(path, Store::Mode::append);
    for (uint64_t seed = 0; seed < 3; ++seed) store.append(example_record(seed, 20));
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Column> columns_of(const std::string& path) {
  std::vector<Column> columns;
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  const char* sql =
      "SELECT m.name, c.name, m.sql LIKE '%WITHOUT ROWID%' FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'";
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  const auto text = [&](int i) { return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, i))); };
  while (sqlite3_step(statement) == SQLITE_ROW) columns.push_back({text(0), text(1), sqlite3_column_int(statement, 2) == 0});
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return columns;
}

void bind_value(sqlite3_stmt* statement, FuzzedDataProvider& input) {
  constexpr std::array<int64_t, 8> telling{0, -1, 1, 2, INT64_MAX, INT64_MIN, INT32_MAX, 1 << 20};
  switch (input.ConsumeIntegralInRange(0, 5)) {
    case 0:
      sqlite3_bind_int64(statement, 1, input.PickValueInArray(telling));
      return;
    case 1:
      sqlite3_bind_int64(statement, 1, input.ConsumeIntegral<int64_t>());
      return;
    case 2:
      sqlite3_bind_double(statement, 1, input.ConsumeFloatingPoint<double>());
      return;
    case 3:
      sqlite3_bind_null(statement, 1);
      return;
    default: {
      const bool as_text = input.ConsumeBool();
      const std::string bytes = input.ConsumeRandomLengthString(200);
      if (as_text) {
        sqlite3_bind_text(statement, 1, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
      } else {
        sqlite3_bind_blob(statement, 1, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
      }
    }
  }
}

// A whole value, or a part of a text or block, in the middle of which most faults hide.
void exchange(sqlite3* database, const Column& column, FuzzedDataProvider& input) {
  const int at = input.ConsumeIntegralInRange(0, 400), row = input.ConsumeIntegralInRange(0, 3);
  std::string value = "?1";
  if (input.ConsumeBool())
    value = "CAST(substr(\"" + column.name + "\", 1, " + std::to_string(at) + ") || ?1 || substr(\"" + column.name + "\", " +
            std::to_string(at + input.ConsumeIntegralInRange(0, 20)) + ") AS " + (column.table == "blocks" ? "BLOB)" : "TEXT)");
  std::string sql = "UPDATE OR IGNORE \"" + column.table + "\" SET \"" + column.name + "\" = " + value;
  if (column.has_rowid && row > 0) sql += " WHERE rowid = " + std::to_string(row);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return;
  bind_value(statement, input);
  sqlite3_step(statement);
  sqlite3_finalize(statement);
}

void write_over(const std::string& path, FuzzedDataProvider& input) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  for (int writes = input.ConsumeIntegralInRange(0, 4); writes > 0 && size > 0; --writes) {
    file.seekp(input.ConsumeIntegralInRange<int64_t>(0, size - 1));
    const std::string bytes = input.ConsumeRandomLengthString(40);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
}

void make_damaged(const std::string& path, const std::string& good, FuzzedDataProvider& input) {
  std::ofstream(path, std::ios::binary) << good;
  static const std::vector<Column> columns = columns_of(path);
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  sqlite3_exec(database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", nullptr, nullptr, nullptr);
  for (int exchanges = input.ConsumeIntegralInRange(0, 4); exchanges > 0; --exchanges)
    exchange(database, columns[input.ConsumeIntegralInRange<size_t>(0, columns.size() - 1)], input);
  sqlite3_close(database);
  write_over(path, input);
}

void read_all(const std::string& path) {
  const Store store(path, Store::Mode::read);
  std::vector<std::string> ids;
  store.look([&](const Record& record) { ids.push_back(record.record_id); });
  store.finished();
  store.timing_counts();
  store.metric_ids();
  for (const std::string& id : ids) {
    store.timings(id);
    store.series(id);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("Stores read to their end");
  static const std::string good = good_store();
  static const std::string path = scratch_path("damaged.db"), copy = scratch_path("copy.db");
  FuzzedDataProvider input(data, size);
  const bool copies = input.ConsumeIntegralInRange(0, 15) == 0;
  make_damaged(path, good, input);
  share.count(fuzz::accepts([&] { read_all(path); }));
  if (copies) {
    fuzz::accepts([&] { copy_store(path, copy, {.compact = true, .anonymous = true}); });
    std::filesystem::remove(copy);
  }
  return 0;
}
