#include "store/merge_stores.h"

#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "record/example_record.h"
#include "record/record_json.h"
#include "store/run_sql.h"
#include "store/store.h"
#include "store/test_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

void write_store(const std::string& path, const std::vector<Record>& records) { Store(path, Store::Mode::append).append(records); }

std::vector<Record> records_of(const std::string& path) { return records_of(Store(path, Store::Mode::read)); }

// Another Record of the same result.
Record again(Record record, const std::string& record_id, Outcome outcome, int64_t later_ns) {
  record.record_id = record_id;
  record.run_id = "run of " + record_id;
  record.outcome = outcome;
  record.started_unix_ns += later_ns;
  return record;
}

std::vector<Record> examples(uint64_t from, uint64_t to) {
  std::vector<Record> records;
  for (uint64_t seed = from; seed < to; ++seed) records.push_back(example_record(seed));
  return records;
}

size_t files_in(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator files(folder.path());
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

TEST(MergeStores, OfTwoCopiesTheOneWithAProfileIsKept) {
  const TemporaryFolder folder;
  const std::string id = example_record(1).record_id;
  write_store(folder / "a.db", examples(0, 3));
  write_store(folder / "b.db", examples(0, 3));
  Store(folder / "b.db", Store::Mode::append).keep_profile(id, "{}");
  run_sql(folder / "a.db",
          "DROP TABLE profiles; DROP TABLE remarks; UPDATE meta SET value = '1' WHERE key = 'schema'; PRAGMA user_version = 1");
  for (const bool turned : {false, true}) {
    const std::string out = folder / (turned ? "ba.db" : "ab.db");
    const std::string first = folder / (turned ? "b.db" : "a.db"), second = folder / (turned ? "a.db" : "b.db");
    ASSERT_TRUE(merge_stores({{first}, {second}}, out));
    const Store merged(out, Store::Mode::read);
    EXPECT_EQ(merged.size(), 3);
    EXPECT_EQ(merged.profiled(), std::set<std::string>{id});
  }
}

TEST(MergeStores, WhatWasSaidOfAnyCopyIsSaidOfTheOne) {
  const TemporaryFolder folder;
  const std::string id = example_record(1).record_id, other = example_record(2).record_id;
  write_store(folder / "a.db", examples(0, 3));
  write_store(folder / "b.db", examples(0, 3));
  Store(folder / "a.db", Store::Mode::append).annotation(std::vector{id}, AnnotationKind::tag, "a");
  Store(folder / "b.db", Store::Mode::append).annotation(std::vector{id, other}, AnnotationKind::tag, "b");
  for (const bool turned : {false, true}) {
    const std::string out = folder / (turned ? "ba.db" : "ab.db");
    ASSERT_TRUE(merge_stores({{folder / (turned ? "b.db" : "a.db")}, {folder / (turned ? "a.db" : "b.db")}}, out));
    const std::vector<Record> records = records_of(out);
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].annotations, Annotations());
    EXPECT_EQ(records[1].annotations, (Annotations{{"a", "b"}, {}}));
    EXPECT_EQ(records[2].annotations, (Annotations{{"b"}, {}}));
  }
}

TEST(MergeStores, TakesWhatIsWanted) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 3));
  write_store(folder / "b.db", examples(2, 5));
  const std::string id = example_record(2).record_id;
  const auto report = merge_stores({{folder / "a.db"}, {folder / "b.db"}}, folder / "out.db",
                                   {.wanted = [&](const Record& r) { return r.record_id == id; }});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->read, 2);
  EXPECT_EQ(report->written, 1);
  ASSERT_EQ(records_of(folder / "out.db").size(), 1u);
}

TEST(MergeStores, TakesAllThatIsDifferentWithItsTimings) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 5));
  write_store(folder / "b.db", examples(5, 9));
  const auto report = merge_stores({{folder / "a.db"}, {folder / "b.db"}}, folder / "out.db");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->read, 9);
  EXPECT_EQ(report->written, 9);
  EXPECT_EQ(report->same + report->doubled, 0);
  const std::vector<Record> merged = records_of(folder / "out.db");
  ASSERT_EQ(merged.size(), 9u);
  const Store store(folder / "out.db", Store::Mode::read);
  for (uint64_t seed = 0; seed < 9; ++seed) {
    Record expected = example_record(seed);
    EXPECT_EQ(record_to_json(merged[seed]), record_to_json(expected));
    EXPECT_EQ(store.timings(expected.record_id).size(), expected.timings.size());
    EXPECT_EQ(store.series(expected.record_id).size(), expected.series.size());
  }
}

TEST(MergeStores, ARecordInTwoStoresIsOne) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 5));
  write_store(folder / "b.db", examples(3, 9));
  for (const Once once : {Once::record, Once::machine, Once::scope}) {
    const auto report = merge_stores({{folder / "a.db"}, {folder / "b.db"}}, folder / "out.db", {.once = once, .replace = true});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->written, 9);
    EXPECT_EQ(report->same, 2);
    EXPECT_EQ(report->doubled, 0);
  }
}

// Measured before failed before interrupted, then the first; whatever the order of the Stores.
TEST(MergeStores, OfOneResultTheBestIsKeptAndTellsOfTheOthers) {
  const TemporaryFolder folder;
  const Record first = example_record(1);
  const std::map<std::string, Record> stores{
      {"interrupted.db", again(first, "interrupted", Outcome::interrupted, -3)},
      {"crashed.db", again(first, "crashed", Outcome::crashed, -2)},
      {"second.db", again(first, "second", Outcome::ok, 2)},
      {"first.db", again(first, "first", Outcome::ok, 1)},
      {"refused.db", again(first, "refused", Outcome::refused, 0)},
  };
  std::vector<MergeInput> inputs;
  for (const auto& [name, record] : stores) {
    write_store(folder / name, {record});
    inputs.push_back({folder / name});
  }
  std::sort(inputs.begin(), inputs.end(), [](const MergeInput& a, const MergeInput& b) { return a.path < b.path; });
  std::string notes;
  do {
    const auto report = merge_stores(inputs, folder / "out.db", {.replace = true});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->doubled, 4);
    const std::vector<Record> merged = records_of(folder / "out.db");
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_EQ(merged[0].record_id, "first");
    const std::string words = std::get<std::string>(merged[0].facts.at("merge.left_out"));
    EXPECT_THAT(words, HasSubstr("second ok on node-17.example.org"));
    if (notes.empty()) notes = words;
    EXPECT_EQ(words, notes);
  } while (std::next_permutation(inputs.begin(), inputs.end(), [](const MergeInput& a, const MergeInput& b) { return a.path < b.path; }));
}

TEST(MergeStores, WhatIsOneResultIsAQuestionOfWhoAsks) {
  const TemporaryFolder folder;
  const Record here = example_record(1);
  Record there = again(here, "there", Outcome::ok, 1);
  there.environment["host.name"] = std::string("node-18.example.org");
  write_store(folder / "a.db", {here, again(here, "once more", Outcome::ok, 5)});
  write_store(folder / "b.db", {there});
  const auto written = [&](Once once, const std::string& other_scope) {
    const auto report =
        merge_stores({{folder / "a.db", "x"}, {folder / "b.db", other_scope}}, folder / "out.db", {.once = once, .replace = true});
    return report ? report->written : -1;
  };
  EXPECT_EQ(written(Once::record, "x"), 3);
  EXPECT_EQ(written(Once::machine, "x"), 2);
  EXPECT_EQ(written(Once::scope, "x"), 1);
  EXPECT_EQ(written(Once::scope, "y"), 2);
}

TEST(MergeStores, MergingAgainChangesNothing) {
  const TemporaryFolder folder;
  const Record first = example_record(1);
  write_store(folder / "a.db", {first});
  write_store(folder / "b.db", {again(first, "later", Outcome::ok, 1), example_record(2)});
  ASSERT_TRUE(merge_stores({{folder / "a.db"}, {folder / "b.db"}}, folder / "out.db"));
  const std::vector<Record> once = records_of(folder / "out.db");
  const auto report = merge_stores({{folder / "out.db"}, {folder / "a.db"}}, folder / "out.db", {.replace = true});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->same, 1);
  const std::vector<Record> twice = records_of(folder / "out.db");
  ASSERT_EQ(twice.size(), once.size());
  for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(record_to_json(twice[i]), record_to_json(once[i]));
}

TEST(MergeStores, OfTwoCopiesTheOneThatTellsOfOthersIsKept) {
  const TemporaryFolder folder;
  const Record first = example_record(1);
  write_store(folder / "a.db", {first});
  write_store(folder / "b.db", {again(first, "later", Outcome::ok, 1)});
  ASSERT_TRUE(merge_stores({{folder / "a.db"}, {folder / "b.db"}}, folder / "both.db"));
  for (const auto& inputs : {std::vector<MergeInput>{{folder / "a.db"}, {folder / "both.db"}}, {{folder / "both.db"}, {folder / "a.db"}}}) {
    ASSERT_TRUE(merge_stores(inputs, folder / "out.db", {.replace = true}));
    const std::vector<Record> merged = records_of(folder / "out.db");
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_EQ(merged[0].facts.count("merge.left_out"), 1u);
  }
}

TEST(MergeStores, WhatWasAppendedSinceCanBeTakenAlone) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 3));
  const auto first = merge_stores({{folder / "a.db"}}, folder / "one.db");
  write_store(folder / "a.db", examples(3, 5));
  const auto second = merge_stores({{.path = folder / "a.db", .after_row = first->last_row}}, folder / "two.db");
  EXPECT_EQ(first->written, 3);
  EXPECT_EQ(second->written, 2);
  EXPECT_EQ(records_of(folder / "two.db").front().record_id, example_record(3).record_id);
  const auto third = merge_stores({{.path = folder / "a.db", .after_row = second->last_row}}, folder / "three.db");
  EXPECT_EQ(third->written, 0);
  EXPECT_EQ(third->last_row, second->last_row);
}

TEST(MergeStores, WhatIsThereIsNotReplacedUnasked) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 2));
  write_store(folder / "out.db", examples(5, 6));
  EXPECT_THAT(error_of([&] { merge_stores({{folder / "a.db"}}, folder / "out.db"); }, ErrorKind::input), HasSubstr("exists already"));
  EXPECT_EQ(records_of(folder / "out.db").size(), 1u);
}

TEST(MergeStores, WhatCannotBeReadIsToldByName) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 2));
  write_store(folder / "newer.db", examples(2, 4));
  run_sql(folder / "newer.db", "PRAGMA user_version = 99; UPDATE meta SET value = '99' WHERE key = 'schema'");
  write_store(folder / "damaged.db", examples(4, 8));
  run_sql(folder / "damaged.db", "UPDATE records SET windows = 'x' WHERE id = 3");
  const std::vector<MergeInput> inputs{{folder / "a.db"}, {folder / "newer.db"}, {folder / "absent.db"}, {folder / "damaged.db"}};
  EXPECT_THAT(error_of([&] { merge_stores(inputs, folder / "out.db"); }, ErrorKind::input), HasSubstr("newer.db: made by a newer deepgap"));
  std::map<std::string, std::string> told;
  MergeSettings settings;
  settings.unreadable = [&](const MergeInput& input, const std::string& reason) { told[input.path] = reason; };
  const auto report = merge_stores(inputs, folder / "out.db", settings);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->written, 2);  // nothing of a Store that turned out to be damaged when it was half copied
  EXPECT_EQ(told.size(), 3u);
  EXPECT_THAT(told[folder / "absent.db"], HasSubstr("No such file"));
  EXPECT_THAT(told[folder / "damaged.db"], HasSubstr("damaged.db"));
}

TEST(MergeStores, InterruptedItLeavesNothing) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 1500));
  EXPECT_FALSE(merge_stores({{folder / "a.db"}}, folder / "out.db", {.interrupted = [] { return true; }}));
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(MergeStores, OnAFullDiskItLeavesNothing) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 400));
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      merge_stores({{folder / "a.db"}}, folder / "out.db");
      ::_exit(1);
    } catch (const Error& error) {
      const std::string words = error.what();
      ::_exit(error.kind() == ErrorKind::store && words.find("out.db") != std::string::npos ? 0 : 2);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(MergeStores, KilledItLeavesTheOldOneOrTheNewOne) {
  const TemporaryFolder folder;
  write_store(folder / "a.db", examples(0, 300));
  write_store(folder / "out.db", examples(300, 301));
  for (long after_us = 0; after_us < 60'000; after_us += 6'000) {
    const pid_t child = ::fork();
    if (child == 0) {
      merge_stores({{folder / "a.db"}, {folder / "out.db"}}, folder / "out.db", {.once = Once::record, .replace = true});
      ::_exit(0);
    }
    const timespec time{0, after_us * 1000};
    ::nanosleep(&time, nullptr);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const size_t size = records_of(folder / "out.db").size();
    EXPECT_TRUE(size == 1 || size == 301) << size;
  }
}

}  // namespace
}  // namespace deepgap
