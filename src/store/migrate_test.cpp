// Stores of every schema and shape that was ever written, made by the programs of their day (tests/data/stores): they are read as they are,
// and brought up to date where they are appended to.
#include "base/file.h"
#include "base/temporary_folder.h"
#include "record/example_record.h"
#include "store/merge_stores.h"
#include "store/run_sql.h"
#include "store/store.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

// The three Records that each was filled with: one whole, one whose verdict is told by a fact, one that crashed.
void expect_the_three(const std::vector<Record>& records) {
  ASSERT_EQ(records.size(), 3U);
  const Record& whole = records[0];
  const Record now = example_record(1, 3);
  EXPECT_EQ(whole.point, now.point);
  EXPECT_EQ(whole.verdict, Verdict::valid);
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

std::vector<Record> records_of(const Store& store) {
  std::vector<Record> records;
  store.each([&](Record&& record) { records.push_back(std::move(record)); });
  return records;
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
  EXPECT_EQ(count_sql(path, "SELECT value FROM meta WHERE key = 'schema'"), 3);
  EXPECT_EQ(count_sql(path, "PRAGMA user_version"), 3);
}

TEST_P(OldStore, CanBeRemarkedOn) {
  std::string id;
  {
    Store store(path, Store::Mode::append);
    id = records_of(store).front().record_id;
    EXPECT_EQ(store.remark(std::vector{id}, RemarkKind::tag, "old"), 1);
  }
  const std::vector<Record> records = records_of(Store(path, Store::Mode::read));
  EXPECT_TRUE(records[0].remarks.tags.contains("old"));
  EXPECT_FALSE(records[2].remarks.tags.contains("old"));
}

TEST_P(OldStore, IsMergedAndCopied) {
  merge_stores({{path}}, folder / "merged.db");
  expect_the_three(records_of(Store(folder / "merged.db", Store::Mode::read)));
  copy_store(path, folder / "copy.db", {.compact = true});
  expect_the_three(records_of(Store(folder / "copy.db", Store::Mode::read)));
}

INSTANTIATE_TEST_SUITE_P(EverySchema, OldStore,
                         testing::Values("schema-1-first.sql", "schema-1-second.sql", "schema-1.sql", "schema-2.sql", "schema-3.sql"));

TEST(OldStores, RemarksOfSchema3AreRead) {
  const TemporaryFolder folder;
  run_sql(folder / "a.db", read_text("tests/data/stores/schema-3.sql"));
  const std::vector<Record> records = records_of(Store(folder / "a.db", Store::Mode::read));
  EXPECT_EQ(records[0].remarks, (Remarks{{"good", "release-1"}, {"the first; after an update"}}));
  EXPECT_EQ(records[1].remarks, (Remarks{{"good"}, {}}));
  EXPECT_EQ(records[2].remarks, Remarks());
}

}  // namespace
}  // namespace deepgap
