// Stores of every schema and shape that was ever written, made by the programs of their day (tests/data/stores): they are read as they are,
// and brought up to date where they are appended to.
#include "base/file.h"
#include "base/temporary_folder.h"
#include "record/example_record.h"
#include "store/merge_stores.h"
#include "store/run_sql.h"
#include "store/store.h"
#include "store/test_records.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

// Expects the three Records that each was filled with: one whole, one whose verdict is given by a fact, one that crashed.
void expect_the_three(const std::vector<Record>& records) {
  ASSERT_EQ(records.size(), 3U);
  const Record& whole = records[0];
  const Record now = example_record(1, 3);
  EXPECT_EQ(whole.point, now.point);
  EXPECT_EQ(whole.verdict, Verdict::as_found) << "it was ended by a count";
  EXPECT_EQ(whole.facts, now.facts);
  ASSERT_TRUE(whole.check);
  EXPECT_EQ(whole.check->against, "native fp32 reference");
  EXPECT_EQ(whole.check->sqnr_db, 118.5);
  EXPECT_EQ(whole.check->top1_agreement, 1.0);
  EXPECT_TRUE(whole.check->pass);
  ASSERT_EQ(whole.windows.size(), 3U);
  EXPECT_EQ(whole.windows[2].name, "steady");
  EXPECT_EQ(whole.windows[2].end, 2'000'000'000);
  EXPECT_EQ(whole.environment.at("cpu.model"), Fact(std::string("Example CPU @ 2.10GHz")));
  EXPECT_EQ(whole.stopping.iterations, 100);
  EXPECT_EQ(whole.estimates.count("throughput"), 1U);
  EXPECT_TRUE(records[1].facts.contains("as_found"));
  const Record& crashed = records[2];
  EXPECT_EQ(crashed.outcome, Outcome::crashed);
  EXPECT_FALSE(crashed.check);
  EXPECT_TRUE(crashed.windows.empty());
  EXPECT_EQ(crashed.stderr_tail, "first line\nit's the \"second\"\n");
}

class OldStore : public testing::TestWithParam<const char*> {
 protected:
  OldStore() { run_sql(path, read_text(std::string("tests/data/stores/") + GetParam())); }
  TemporaryFolder folder;
  std::string path = folder / "old.db";
};

TEST_P(OldStore, IsReadAndLeftAsItIs) {
  const std::string before = read_text(path);
  {
    const Store store(path, Store::Mode::read);
    const std::vector<Record> records = records_of(store);
    expect_the_three(records);
    EXPECT_EQ(store.timings(records[0].record_id).size(), 3U);
    EXPECT_EQ(store.size(), 3);
  }
  EXPECT_EQ(read_text(path), before);
}

TEST_P(OldStore, IsBroughtUpToDateWhereItIsAppendedTo) {
  {
    Store store(path, Store::Mode::append);
    store.append(example_record(9));
  }
  const Store store(path, Store::Mode::read);
  std::vector<Record> records = records_of(store);
  ASSERT_EQ(records.size(), 4U);
  records.pop_back();
  expect_the_three(records);
  EXPECT_EQ(store.timings(records[0].record_id).size(), 3U);
  EXPECT_EQ(count_sql(path, "SELECT count(*) FROM v1_records WHERE outcome = 'ok'"), 3);
  EXPECT_EQ(count_sql(path, "SELECT count(*) FROM v1_facts WHERE key = 'cpu.model' AND source = 'environment'"), 4);
  EXPECT_GE(count_sql(path, "SELECT count(*) FROM v1_facts WHERE key = 'memory.available_bytes'"), 1) << "which the first examples had not";
  EXPECT_EQ(count_sql(path, "SELECT value FROM meta WHERE key = 'schema'"), 4);
  EXPECT_EQ(count_sql(path, "PRAGMA user_version"), 4);
  EXPECT_EQ(count_sql(path, "SELECT count(*) FROM v1_records WHERE verdict = 'as_found'"), 2)
      << "of the old ones; the new one says it itself";
}

TEST_P(OldStore, CanBeAnnotated) {
  std::string id;
  {
    Store store(path, Store::Mode::append);
    id = records_of(store).front().record_id;
    EXPECT_EQ(store.annotation(std::vector{id}, AnnotationKind::tag, "old"), 1);
  }
  const std::vector<Record> records = records_of(Store(path, Store::Mode::read));
  EXPECT_TRUE(records[0].annotations.tags.contains("old"));
  EXPECT_FALSE(records[2].annotations.tags.contains("old"));
}

TEST_P(OldStore, IsMergedAndCopied) {
  merge_stores({{path}}, folder / "merged.db");
  expect_the_three(records_of(Store(folder / "merged.db", Store::Mode::read)));
  copy_store(path, folder / "copy.db", {.compact = true});
  expect_the_three(records_of(Store(folder / "copy.db", Store::Mode::read)));
}

INSTANTIATE_TEST_SUITE_P(EverySchema, OldStore,
                         testing::Values("schema-1-first.sql", "schema-1-second.sql", "schema-1.sql", "schema-2.sql", "schema-3.sql",
                                         "schema-4.sql"));

TEST(OldStores, AnnotationsAreReadSinceSchema3) {
  const TemporaryFolder folder;
  for (const char* name : {"schema-3.sql", "schema-4.sql"}) {
    const std::string path = folder / name;
    run_sql(path, read_text(std::string("tests/data/stores/") + name));
    const std::vector<Record> records = records_of(Store(path, Store::Mode::read));
    EXPECT_EQ(records[0].annotations, (Annotations{{"good", "release-1"}, {"the first; after an update"}}));
    EXPECT_EQ(records[1].annotations, (Annotations{{"good"}, {}}));
    EXPECT_EQ(records[2].annotations, Annotations());
  }
}

// Before schema 4 there was no such verdict. What was judged by a bound, by its load or by other rules stays valid.
TEST(OldStores, OfAllThatWasEndedByACountOrATimeOnlyWhatNothingWasAskedOfIsAsFound) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, Verdict>> cases{
      {"", Verdict::as_found},
      {"UPDATE settings SET json = replace(json, '\"counts\"', '\"duration\"')", Verdict::as_found},
      {"UPDATE settings SET json = replace(json, '\"counts\"', '\"schedule\"')", Verdict::as_found},
      {"UPDATE settings SET json = replace(json, '\"counts\"', '\"interval\"')", Verdict::valid},
      {"UPDATE settings SET json = replace(json, '\"counts\"', '\"interval\"'); UPDATE records SET facts = json_set(facts, '$.as_found', "
       "'x')",
       Verdict::as_found},
      {"UPDATE points SET json = json_set(json, '$.options.bound', 'p99=15ms')", Verdict::valid},
      {"UPDATE points SET json = json_set(json, '$.options.duel', 'x')", Verdict::valid},
      {"UPDATE points SET json = json_set(json, '$.options.mlperf', 'v5.1')", Verdict::valid},
      {"INSERT INTO metric_names(id, name) VALUES(900, 'offered_rate'); INSERT INTO metric_values VALUES(1, 900, 100, NULL, NULL, 1)",
       Verdict::valid},
      {"UPDATE records SET verdict = 'unstable'", Verdict::unstable}};
  int number = 0;
  for (const auto& [sql, verdict] : cases) {
    const std::string path = folder / std::to_string(number++);
    run_sql(path, read_text("tests/data/stores/schema-2.sql"));
    run_sql(path, sql);
    EXPECT_EQ(records_of(Store(path, Store::Mode::read))[0].verdict, verdict) << sql;
    { Store(path, Store::Mode::append); }
    EXPECT_EQ(records_of(Store(path, Store::Mode::read))[0].verdict, verdict) << "brought up to date: " << sql;
  }
}

}  // namespace
}  // namespace deepgap
