#include "store/store.h"

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "record/example_record.h"
#include "record/record_json.h"
#include "store/run_sql.h"
#include "store/test_records.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

TEST(Store, GivesBackWhatItTook) {
  const TemporaryFolder folder;
  std::vector<Record> given;
  {
    Store store(folder / "a.db", Store::Mode::append);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Record record = example_record(seed);
      if (seed % 3 == 0) record.check.reset();
      if (seed % 4 == 0) record.load_s.reset();
      if (seed % 5 == 0) record.stderr_tail = "something\nwent wrong";
      record.unchecked = seed % 2 == 0;
      record.outcome = static_cast<Outcome>(seed % 9);
      record.verdict = static_cast<Verdict>(seed % 4);
      record.tenant = seed % 2 == 0 ? "" : "second";
      store.append(record);
      given.push_back(std::move(record));
    }
    EXPECT_EQ(store.size(), 20);
  }
  const Store store(folder / "a.db", Store::Mode::read);
  const auto counts = store.timing_counts();
  const auto back = records_of(store);
  ASSERT_EQ(back.size(), given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(record_to_json(back[i]), record_to_json(given[i]));
    EXPECT_EQ(counts.at(given[i].record_id), 5);
    const auto timings = store.timings(given[i].record_id);
    ASSERT_EQ(timings.size(), 5u);
    EXPECT_EQ(timings[4].end, given[i].timings[4].end);
    EXPECT_EQ(store.series(given[i].record_id).at(1).values, given[i].series[1].values);
  }
  EXPECT_TRUE(store.timings("no such record").empty());
  size_t looked = 0;
  store.look([&](const Record& record) { EXPECT_EQ(record_to_json(record), record_to_json(given[looked++])); });
  EXPECT_EQ(looked, given.size());
}

TEST(Store, WhatAVisitorChangesDoesNotReachTheNext) {
  const TemporaryFolder folder;
  Store store(folder / "a.db", Store::Mode::append);
  for (uint64_t seed = 0; seed < 3; ++seed) store.append(example_record(seed));
  uint64_t seed = 0;
  store.each([&](Record&& record) {
    EXPECT_EQ(record_to_json(record), record_to_json(example_record(seed++)));
    record.environment.begin()->second = int64_t{1};
    record.point.model = record.run_id = record.backend_version = "changed";
    if (seed == 2) const Record taken = std::move(record);
  });
  EXPECT_EQ(seed, 3u);
}

TEST(Store, NotANumberAndInfinityComeBack) {
  const TemporaryFolder folder;
  Store store(folder / "a.db", Store::Mode::append);
  Record record = example_record(1);
  record.estimates = {{"nan", {std::nan(""), {}, {}, 1}}, {"inf", {std::numeric_limits<double>::infinity(), 1.0, {}, 2}}};
  store.append(record);
  const auto back = records_of(store).at(0).estimates;
  EXPECT_TRUE(std::isnan(back.at("nan").value));
  EXPECT_EQ(back.at("inf").value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(back.at("inf").low, 1.0);
  EXPECT_EQ(back.at("inf").high, std::nullopt);
}

// Version 0.1.0 called it `tune`, as native calls an option.
TEST(Store, TheMarkOfATuningRunIsReadByItsNameOfToday) {
  const TemporaryFolder folder;
  Store store(folder / "a.db", Store::Mode::append);
  Record marked = example_record(1), asked = example_record(2);
  marked.point.options = {{"tune", "confirm"}};
  asked.point.options = {{"tune", "quick"}};
  store.append(marked);
  store.append(asked);
  const std::vector<Record> records = records_of(store);
  EXPECT_EQ(records.at(0).point.options, (std::map<std::string, std::string>{{"tune_run", "confirm"}}));
  EXPECT_EQ(records.at(1).point.options, asked.point.options);
}

TEST(Store, AppendsToAnExistingOneAndKeepsOneEnvironment) {
  const TemporaryFolder folder;
  for (uint64_t seed = 0; seed < 3; ++seed) Store(folder / "a.db", Store::Mode::append).append(example_record(seed));
  EXPECT_EQ(Store(folder / "a.db", Store::Mode::read).size(), 3);
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "a.db").c_str(), &handle), SQLITE_OK);
  const auto count = [&](const char* sql) {
    int value = -1;
    sqlite3_exec(
        handle, sql, [](void* out, int, char** columns, char**) { return *static_cast<int*>(out) = std::atoi(columns[0]), 0; }, &value,
        nullptr);
    return value;
  };
  EXPECT_EQ(count("SELECT count(*) FROM environments"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM settings"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM metrics WHERE id = 'throughput'"), 3);
  EXPECT_EQ(count("PRAGMA application_id"), 0x64676170);
  EXPECT_EQ(count("SELECT value FROM meta WHERE key = 'schema'"), 4);
  sqlite3_close(handle);
}

TEST(Store, AnnotationsStayWithTheirRecordsInCopiesToo) {
  const TemporaryFolder folder;
  const std::string first = example_record(1).record_id, second = example_record(2).record_id;
  {
    Store store(folder / "a.db", Store::Mode::append);
    for (uint64_t seed = 1; seed < 4; ++seed) store.append(example_record(seed));
    EXPECT_EQ(store.annotation(std::vector{first, second}, AnnotationKind::tag, "good"), 2);
    EXPECT_EQ(store.annotation(std::vector{first, second}, AnnotationKind::tag, "good"), 0) << "once is enough";
    EXPECT_EQ(store.annotation(std::vector{first, std::string("nobody")}, AnnotationKind::tag, "a"), 1);
    EXPECT_EQ(store.annotation(std::vector{second}, AnnotationKind::note, "of /home/someone/src"), 1);
  }
  copy_store(folder / "a.db", folder / "copy.db", {.compact = true});
  copy_store(folder / "a.db", folder / "anonymous.db", {.anonymous = true});
  for (const char* name : {"a.db", "copy.db", "anonymous.db"}) {
    const std::vector<Record> records = records_of(Store(folder / name, Store::Mode::read));
    EXPECT_EQ(records[0].annotations, (Annotations{{"a", "good"}, {}})) << name;
    EXPECT_EQ(records[1].annotations.notes, std::set<std::string>{std::string(name) == "anonymous.db" ? "of src" : "of /home/someone/src"});
    EXPECT_EQ(records[2].annotations, Annotations()) << name;
  }
}

TEST(Store, AnnotationsAreTakenBack) {
  const TemporaryFolder folder;
  const std::string first = example_record(1).record_id, second = example_record(2).record_id;
  Store store(folder / "a.db", Store::Mode::append);
  store.append(example_record(1));
  store.append(example_record(2));
  for (const char* tag : {"a", "b"}) store.annotation(std::vector{first, second}, AnnotationKind::tag, tag);
  store.annotation(std::vector{first}, AnnotationKind::note, "a");
  EXPECT_EQ(store.remove_annotation(std::vector{first}, AnnotationKind::tag, "a"), 1);
  EXPECT_EQ(store.remove_annotation(std::vector{first}, AnnotationKind::tag, "a"), 0);
  EXPECT_EQ(records_of(store)[0].annotations, (Annotations{{"b"}, {"a"}}));
  EXPECT_EQ(store.remove_annotation(std::vector{second}, AnnotationKind::tag, std::nullopt), 2);
  EXPECT_EQ(records_of(store)[1].annotations, Annotations());
}

TEST(Store, ACopyIsOfTheRecordsThatAreWanted) {
  const TemporaryFolder folder;
  {
    Store store(folder / "a.db", Store::Mode::append);
    for (uint64_t seed = 1; seed < 4; ++seed) store.append(example_record(seed));
  }
  const std::string second = example_record(2).record_id;
  CopyOptions options;
  options.wanted = [&](const Record& record) { return record.record_id == second; };
  copy_store(folder / "a.db", folder / "copy.db", options);
  const std::vector<Record> records = records_of(Store(folder / "copy.db", Store::Mode::read));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].record_id, second);
}

// Makes the Store as version 1 left it.
void make_older(const std::string& path) {
  run_sql(path, "DROP TABLE profiles; DROP TABLE remarks; UPDATE meta SET value = '1' WHERE key = 'schema'; PRAGMA user_version = 1");
}

TEST(Store, AProfileStaysBesideItsRecordInCopiesToo) {
  const TemporaryFolder folder;
  const std::string first = example_record(1).record_id, second = example_record(2).record_id;
  {
    Store store(folder / "a.db", Store::Mode::append);
    for (uint64_t seed = 1; seed < 4; ++seed) store.append(example_record(seed));
    store.keep_profile(second, R"({"version":1})");
    store.keep_profile(second, R"({"version":2})");
    EXPECT_THAT(error_of([&] { store.keep_profile("no such record", "{}"); }, ErrorKind::store), HasSubstr("no such record"));
    store.append(example_record(4));  // the failure left no transaction open
  }
  copy_store(folder / "a.db", folder / "copy.db", {.compact = true});
  for (const char* name : {"a.db", "copy.db"}) {
    const Store store(folder / name, Store::Mode::read);
    EXPECT_EQ(store.profiled(), std::set<std::string>{second});
    EXPECT_EQ(store.profile(second), R"({"version":2})");
    EXPECT_EQ(store.profile(first), "");
  }
}

TEST(Store, WhatIsWrongInItNamesIt) {
  for (const char* sql : {"UPDATE points SET json = '{'", "UPDATE records SET windows = 'x'", "UPDATE records SET outcome = 'no'"}) {
    const TemporaryFolder folder;
    Store(folder / "a.db", Store::Mode::append).append(example_record(1));
    run_sql(folder / "a.db", sql);
    const Store store(folder / "a.db", Store::Mode::read);
    const std::string path = folder / "a.db";
    EXPECT_THAT(error_of([&] { store.look([](const Record&) {}); }, ErrorKind::input), HasSubstr(path)) << sql;
    EXPECT_THAT(error_of([&] { store.each([](Record&&) {}); }, ErrorKind::input), HasSubstr(path)) << sql;
  }
}

TEST(Store, ADamagedProfileIsAnError) {
  const TemporaryFolder folder;
  const std::string id = example_record(1).record_id;
  {
    Store store(folder / "a.db", Store::Mode::append);
    store.append(example_record(1));
    store.keep_profile(id, R"({"version":1})");
  }
  for (const char* block : {"x'00'", "substr(profile, 1, 12)", "x'444750310a28b52ffd00000000'"}) {
    const TemporaryFolder other;
    copy_store(folder / "a.db", other / "b.db", {});
    run_sql(other / "b.db", std::string("UPDATE profiles SET profile = ") + block);
    EXPECT_THAT(error_of([&] { static_cast<void>(Store(other / "b.db", Store::Mode::read).profile(id)); }, ErrorKind::input),
                HasSubstr("damaged profile block"))
        << block;
  }
}

TEST(Store, OneOfVersion1IsReadAsItIsAndBroughtUpToDateToBeWritten) {
  const TemporaryFolder folder;
  const std::string id = example_record(1).record_id;
  { Store(folder / "a.db", Store::Mode::append).append(example_record(1)); }
  make_older(folder / "a.db");
  run_sql(folder / "a.db", "PRAGMA journal_mode = DELETE");
  const std::string before = read_text(folder / "a.db");
  {
    const Store old(folder / "a.db", Store::Mode::read);
    EXPECT_EQ(records_of(old).size(), 1u);
    EXPECT_EQ(old.profile(id), "");
    EXPECT_TRUE(old.profiled().empty());
  }
  copy_store(folder / "a.db", folder / "copy.db", {});
  EXPECT_EQ(read_text(folder / "a.db"), before);
  for (const char* name : {"a.db", "copy.db"}) {
    Store store(folder / name, Store::Mode::append);
    store.keep_profile(id, "{}");
    store.append(example_record(2));
    EXPECT_EQ(store.profile(id), "{}");
    EXPECT_EQ(records_of(store).at(0).record_id, id);
  }
}

TEST(Store, FinishedLeavesOutTheInterrupted) {
  const TemporaryFolder folder;
  Store store(folder / "a.db", Store::Mode::append);
  std::set<std::pair<std::string, int>> expected;
  for (uint64_t seed = 0; seed < 9; ++seed) {
    Record record = example_record(seed);
    record.repeat = static_cast<int>(seed);
    record.outcome = static_cast<Outcome>(seed);
    store.append(record);
    if (record.outcome != Outcome::interrupted) expected.emplace(point_id(record.point), record.repeat);
  }
  EXPECT_EQ(expected.size(), 8u);
  EXPECT_EQ(store.finished(), expected);
}

TEST(Store, ARecordIsNotTakenTwiceAndABatchIsAllOrNothing) {
  const TemporaryFolder folder;
  Store store(folder / "a.db", Store::Mode::append);
  store.append(example_record(1));
  EXPECT_THAT(error_of([&] { store.append(example_record(1)); }, ErrorKind::store), HasSubstr("record_id"));
  // The second of these is there already, so the first must not be kept; nor may its point be remembered as written.
  const std::vector<Record> batch{example_record(2), example_record(1)};
  EXPECT_NE(error_of([&] { store.append(batch); }, ErrorKind::store), "no error");
  EXPECT_EQ(store.size(), 1);
  store.append(example_record(2));
  EXPECT_EQ(records_of(store).at(1).point, example_record(2).point);
}

TEST(Store, AppendInsideEachIsRefused) {
  const TemporaryFolder folder;
  Store store(folder / "a.db", Store::Mode::append);
  store.append(example_record(1));
  EXPECT_NE(error_of([&] { store.each([&](Record&&) { store.append(example_record(2)); }); }, ErrorKind::internal), "no error");
  store.append(example_record(2));
  EXPECT_EQ(store.size(), 2);
}

TEST(Store, ReadersSeeAWholeStoreWhileItGrows) {
  const TemporaryFolder folder;
  Store writer(folder / "a.db", Store::Mode::append);
  writer.append(example_record(1));
  const Store reader(folder / "a.db", Store::Mode::read);
  int seen = 0;
  reader.each([&](Record&&) {
    ++seen;
    if (seen == 1) writer.append(example_record(2));
  });
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(reader.size(), 2);
}

TEST(Store, ReadingLeavesNothingBeside) {
  const TemporaryFolder folder;
  { Store(folder / "a.db", Store::Mode::append).append(example_record(1)); }
  const std::string before = read_text(folder / "a.db");
  { EXPECT_EQ(records_of(Store(folder / "a.db", Store::Mode::read)).size(), 1u); }
  EXPECT_EQ(read_text(folder / "a.db"), before);
  for (const char* suffix : {"-wal", "-shm"}) EXPECT_NE(::access((folder / "a.db" + suffix).c_str(), F_OK), 0) << suffix;
}

// A Store on a medium that cannot be written, its log cleared away: also where SQLite may make no file beside it.
TEST(Store, AFileThatCannotBeWrittenIsRead) {
  const TemporaryFolder folder;
  { Store(folder / "a.db", Store::Mode::append).append(example_record(1)); }
  ASSERT_EQ(::chmod((folder / "a.db").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(Store(folder / "a.db", Store::Mode::read).size(), 1);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

// The largest id that a row can have, with metrics and without.
TEST(Store, TheLastPossibleRecordEndsTheReading) {
  const TemporaryFolder folder;
  { Store(folder / "a.db", Store::Mode::append).append(example_record(1)); }
  const std::string last = std::to_string(std::numeric_limits<int64_t>::max());
  run_sql(folder / "a.db", "UPDATE metric_values SET record = " + last + "; UPDATE records SET id = " + last);
  const auto records = records_of(Store(folder / "a.db", Store::Mode::read));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].estimates.size(), example_record(1).estimates.size());
  run_sql(folder / "a.db", "DELETE FROM metric_values");
  EXPECT_TRUE(records_of(Store(folder / "a.db", Store::Mode::read)).at(0).estimates.empty());
}

}  // namespace
}  // namespace deepgap
