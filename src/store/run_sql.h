// For tests: SQL on a Store's file, past everything that a Store looks after.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace deepgap {

inline void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

}  // namespace deepgap
