// Files that are no Stores, damaged, of others or full: what is said, and that nothing saved is lost.
#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "record/example_record.h"
#include "store/run_sql.h"
#include "store/store.h"
#include "store/test_records.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

std::string open_error(const std::string& path, Store::Mode mode) {
  return error_of([&] { Store(path, mode); }, ErrorKind::input);
}

TEST(StoreErrors, WhatIsNoStore) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "text.db", std::string(5000, 'x'));
  write_file_atomic(folder / "empty.db", "");
  run_sql(folder / "other.db", "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
  for (const auto mode : {Store::Mode::read, Store::Mode::append}) {
    EXPECT_THAT(open_error(folder / "text.db", mode), HasSubstr("it is not a store (not an SQLite file)"));
    EXPECT_THAT(open_error(folder / "other.db", mode), HasSubstr("it is not a store (an SQLite file of another program)"));
    EXPECT_THAT(open_error(folder.path(), mode), HasSubstr("it is a folder"));
    EXPECT_THAT(open_error("/dev/null", mode), HasSubstr("it is not a regular file"));
  }
  EXPECT_THAT(open_error(folder / "empty.db", Store::Mode::read), HasSubstr("it is not a store (an empty file)"));
  EXPECT_THAT(open_error(folder / "absent.db", Store::Mode::read), HasSubstr("No such file"));
  EXPECT_THAT(open_error(folder / "absent" + std::string("/a.db"), Store::Mode::append), HasSubstr("make the folder first"));
  // The other program's file is as it was.
  run_sql(folder / "other.db", "INSERT INTO t VALUES(2)");
  EXPECT_NE(read_text(folder / "text.db"), "");
}

TEST(StoreErrors, ADamagedPartNamesTheStoreWhoeverReadsIt) {
  const TemporaryFolder folder;
  const Record record = example_record(1);
  const auto damaged = [&](const std::string& name, const char* sql) {
    Store(folder / name, Store::Mode::append).append(record);
    run_sql(folder / name, sql);
    return folder / name;
  };
  const std::string timings = damaged("timings.db", "UPDATE blocks SET timings = x'00'");
  const std::string series = damaged("series.db", "UPDATE blocks SET series = x'00'");
  EXPECT_THAT(error_of([&] { static_cast<void>(Store(timings, Store::Mode::read).timings(record.record_id)); }, ErrorKind::input),
              testing::AllOf(HasSubstr(timings), HasSubstr("damaged timing")));
  EXPECT_THAT(error_of([&] { static_cast<void>(Store(series, Store::Mode::read).series(record.record_id)); }, ErrorKind::input),
              HasSubstr(series));
  const CopyOptions recompute{.wanted = {}, .revise = [](Record&) {}};
  for (const std::string& path : {timings, series, damaged("point.db", "UPDATE points SET json = '{'"),
                                  damaged("verdict.db", "UPDATE records SET verdict = 'fine'")}) {
    EXPECT_THAT(error_of([&] { copy_store(path, folder / "copy.db", recompute); }, ErrorKind::input),
                HasSubstr("cannot read store " + path));
  }
}

TEST(StoreErrors, ANewerVersionSaysSo) {
  const TemporaryFolder folder;
  { Store(folder / "a.db", Store::Mode::append).append(example_record(1)); }
  run_sql(folder / "a.db", "UPDATE meta SET value = '7' WHERE key = 'schema'");
  for (const auto mode : {Store::Mode::read, Store::Mode::append}) {
    EXPECT_THAT(open_error(folder / "a.db", mode), HasSubstr("made by a newer deepgap (schema 7; this one knows 4)"));
  }
  run_sql(folder / "a.db", "UPDATE meta SET value = '4' WHERE key = 'schema'; PRAGMA user_version = 9");  // in the file's header alone
  for (const auto mode : {Store::Mode::read, Store::Mode::append}) {
    EXPECT_THAT(open_error(folder / "a.db", mode), HasSubstr("made by a newer deepgap (schema 9; this one knows 4)"));
  }
}

TEST(StoreErrors, AReadOnlyFolderIsNamedBeforeAnythingRuns) {
  // Root may not make files here either.
  EXPECT_THAT(open_error("/sys/deepgap.db", Store::Mode::append), HasSubstr("/sys/deepgap.db"));
}

TEST(StoreErrors, AMakerThatWasKilledLeavesNothingInTheWay) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "empty.db", "");
  run_sql(folder / "wal.db", "PRAGMA journal_mode = WAL");
  for (const char* name : {"empty.db", "wal.db"}) {
    Store(folder / name, Store::Mode::append).append(example_record(1));
    EXPECT_EQ(Store(folder / name, Store::Mode::read).size(), 1);
  }
}

TEST(StoreErrors, DamageIsAnErrorNotACrash) {
  const TemporaryFolder folder;
  {
    Store store(folder / "a.db", Store::Mode::append);
    for (uint64_t seed = 0; seed < 50; ++seed) store.append(example_record(seed));
  }
  run_sql(folder / "a.db", "PRAGMA journal_mode = DELETE");
  const std::string good = read_text(folder / "a.db");
  int noticed = 0;
  for (size_t cut = 0; cut < 60; ++cut) {
    std::string bad = good;
    for (size_t i = 0; i < 200; ++i) bad[(cut * 7919 + i * 31) % bad.size()] ^= static_cast<char>(1 + i);
    write_file_atomic(folder / "bad.db", cut % 2 == 0 ? bad : good.substr(0, good.size() * cut / 60));
    try {
      const Store store(folder / "bad.db", Store::Mode::read);
      store.each([&](Record&& record) { store.timings(record.record_id); });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      ++noticed;
    }
  }
  EXPECT_GT(noticed, 40);
}

TEST(StoreErrors, WhatIsReadMustBePlainTables) {
  const TemporaryFolder folder;
  const auto error_after = [&](const std::string& sql) {
    const std::string path = folder / "a.db";
    ::unlink(path.c_str());
    { Store(path, Store::Mode::append).append(example_record(1)); }
    run_sql(path, sql);
    EXPECT_EQ(open_error(path, Store::Mode::read), open_error(path, Store::Mode::append));
    return open_error(path, Store::Mode::read);
  };
  // The view has no end, and each row is a megabyte.
  EXPECT_THAT(error_after("DROP TABLE runs; CREATE VIEW runs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                          "SELECT i AS id, hex(zeroblob(500000)) AS run_id, '' AS study FROM n"),
              HasSubstr("runs is not a plain table"));
  EXPECT_THAT(error_after("ALTER TABLE environments ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(500000000)))"),
              HasSubstr("environments is not a plain table"));
  EXPECT_THAT(error_after("DROP TABLE points; CREATE VIRTUAL TABLE points USING fts5(json)"), HasSubstr("points is not a plain table"));
  EXPECT_THAT(error_after("DROP TABLE blocks"), HasSubstr("it has no table blocks"));
  EXPECT_THAT(error_after("DROP TABLE profiles; CREATE VIEW profiles AS SELECT 1 AS record, hex(zeroblob(500000)) AS profile"),
              HasSubstr("profiles is not a plain table"));
  EXPECT_THAT(error_after("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM records; END"), HasSubstr("it has triggers"));
  EXPECT_THAT(error_after("DROP TABLE meta; CREATE VIEW meta AS SELECT 'schema' AS key, '1' AS value"),
              HasSubstr("its version is missing"));
}

TEST(StoreErrors, NamesThatSqliteWouldReadOtherwiseAreFiles) {
  const TemporaryFolder folder;
  for (const char* name : {":memory:", "file:x?mode=memory", "100% #1.db"}) {
    { Store(folder / name, Store::Mode::append).append(example_record(1)); }
    EXPECT_EQ(::access((folder / name).c_str(), F_OK), 0);
    EXPECT_EQ(Store(folder / name, Store::Mode::read).size(), 1);
  }
}

// A child that may write no more than some bytes stands for a full disk: what append() returned for must be readable afterwards.
TEST(StoreErrors, AFullDiskLosesNothingThatWasSaved) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{600'000, 600'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    uint64_t saved = 0;
    try {
      Store store(path, Store::Mode::append);
      for (; saved < 100'000; ++saved) store.append(example_record(saved));
    } catch (const Error& error) {
      [[maybe_unused]] const auto written = ::write(pipe_ends[1], &saved, sizeof(saved));
      ::_exit(error.kind() == ErrorKind::store && std::string(error.what()).find(path) != std::string::npos ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  uint64_t saved = 0;
  ASSERT_EQ(::read(pipe_ends[0], &saved, sizeof(saved)), static_cast<ssize_t>(sizeof(saved)));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  EXPECT_GT(saved, 5u);
  const auto back = records_of(Store(path, Store::Mode::append));
  ASSERT_EQ(back.size(), saved);
  EXPECT_EQ(back.back().record_id, example_record(saved - 1).record_id);
}

}  // namespace
}  // namespace deepgap
