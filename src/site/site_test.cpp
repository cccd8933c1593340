#include "site/site.h"

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "report/example_results.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

Results collect(const std::vector<Record>& records) {
  ResultsCollector collector;
  for (const Record& record : records) collector.add(record);
  return collector.results();
}

const SiteFile* find_file(const std::vector<SiteFile>& files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const SiteFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

// Returns what a data file gives to the page.
nlohmann::json data_of(const std::vector<SiteFile>& files, const std::string& kind, int number) {
  const SiteFile* file = find_file(files, kind + "-" + std::to_string(number) + ".js");
  if (file == nullptr) return {};
  const std::string begin = "deepgapSite.add(\"" + kind + "\"," + std::to_string(number) + ",", end = ");\n";
  EXPECT_TRUE(file->text.starts_with(begin) && file->text.ends_with(end)) << file->text.substr(0, 100);
  return nlohmann::json::parse(file->text.substr(begin.size(), file->text.size() - begin.size() - end.size()));
}

TEST(SiteFiles, hold_every_point_once_with_its_detail) {
  const Results results = collect(example_study());
  const std::vector<SiteFile> files = site_files(results, {"Results", "a.db"});
  const nlohmann::json index = data_of(files, "index", 0), rows = data_of(files, "rows", 0), details = data_of(files, "details", 0);
  EXPECT_EQ(index["points"], results.points.size());
  ASSERT_EQ(rows["id"].size(), results.points.size());
  EXPECT_EQ(details.size(), results.points.size());
  EXPECT_EQ(rows["throughput"].size(), 3 * results.points.size());
  for (size_t i = 0; i < results.points.size(); ++i) {
    const PointSummary& point = results.points[i];
    EXPECT_EQ(index["lists"]["model"][rows["model"][i].get<size_t>()], point.point.model);
    EXPECT_EQ(index["lists"]["engine"][rows["engine"][i].get<size_t>()], point.point.backend);
    EXPECT_EQ(rows["batch"][i], point.point.batch);
    EXPECT_THAT(details[i]["run"].get<std::string>(), HasSubstr("deepgap run"));
    if (const MetricSummary* metric = point.find("throughput"))
      EXPECT_NEAR(rows["throughput"][3 * i].get<double>(), metric->estimate.value, 1e-4 * metric->estimate.value);
  }
}

// A link to a point must hold when the site is made again from more results.
TEST(SiteFiles, ids_depend_on_the_point_alone) {
  std::vector<Record> records = example_study();
  const nlohmann::json all = data_of(site_files(collect(records), {"Results"}), "rows", 0)["id"];
  EXPECT_EQ(all.get<std::set<std::string>>().size(), all.size());
  std::reverse(records.begin(), records.end());
  records.resize(records.size() / 2);
  const nlohmann::json half = data_of(site_files(collect(records), {"Results"}), "rows", 0)["id"];
  for (const nlohmann::json& id : half) EXPECT_NE(std::find(all.begin(), all.end(), id), all.end()) << id;
}

TEST(SiteFiles, come_in_pieces) {
  const Results results = collect(example_flood(6000, 5100));
  const std::vector<SiteFile> files = site_files(results, {"Results"});
  EXPECT_EQ(data_of(files, "rows", 0)["id"].size(), 5000u);
  EXPECT_EQ(data_of(files, "rows", 1)["id"].size(), 100u);
  EXPECT_EQ(find_file(files, "rows-2.js"), nullptr);
  EXPECT_EQ(data_of(files, "details", 20).size(), 100u);
  EXPECT_LT(files.size(), 40u);
}

TEST(SiteFiles, hostile_texts_stay_texts) {
  std::vector<Record> records = example_study();
  for (Record& record : records) {
    record.point.model = "</script><script>alert(1)</script>\u2028";
    record.environment["cpu.model"] = "<img src=x onerror=alert(2)>\xff";
    record.stderr_tail = "\x1b[31m</pre>";
  }
  const SiteOptions options{"</title><script>alert(3)</script>", "<b>.db"};
  const Results results = collect(records);
  for (const SiteFile& file : site_files(results, options)) {
    if (file.name == "site.js") continue;
    EXPECT_TRUE(std::all_of(file.text.begin(), file.text.end(), [](char c) { return static_cast<signed char>(c) >= ' ' || c == '\n'; }))
        << file.name << " is ASCII without control characters";
  }
  const std::string page = site_page(results, options, "data-0");
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST(SiteFiles, trends_and_origins_are_in_the_detail) {
  const Results results = collect(example_study());
  SiteOptions options{"Results"};
  const PointOnDevice first = results.points[0].on_device();
  options.origins[first] = {"0123456789abcdef0123456789abcdef", "my nights.db"};
  TrendSeries series{
      first.point, first.device, "a machine", {{1'700'000'000'000'000'000, "v1", 10}, {1'700'086'400'000'000'000, "v2", 5}}, {}};
  options.trends[first] = {series};
  const nlohmann::json detail = data_of(site_files(results, options), "details", 0)[0];
  EXPECT_EQ(detail["rerun"], "deepgap rerun 0123456789ab --from 'my nights.db'");
  EXPECT_EQ(detail["trends"][0]["runs"][1], nlohmann::json({1'700'086'400, 5.0, "v2"}));
}

TEST(WriteSite, replaces_a_site_and_keeps_other_files) {
  const TemporaryFolder folder;
  const fs::path site = fs::path(folder.path()) / "site";
  write_site(site.string(), collect(example_study()), {"First"});
  write_file_atomic((site / "CNAME").string(), "example.org");
  write_site(site.string(), collect(example_flood(10, 5)), {"Second"});
  size_t data = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(site)) data += entry.is_directory();
  EXPECT_EQ(data, 1u) << "old data is gone";
  EXPECT_TRUE(fs::exists(site / "CNAME"));
  EXPECT_THAT(read_text((site / "index.html").string()), HasSubstr("Second"));
}

TEST(WriteSite, refuses_what_is_no_site) {
  const TemporaryFolder folder;
  const fs::path full = fs::path(folder.path()) / "full", file = fs::path(folder.path()) / "file";
  fs::create_directory(full);
  write_file_atomic((full / "mine.txt").string(), "mine");
  write_file_atomic(file.string(), "mine");
  const Results results = collect(example_flood(2, 1));
  EXPECT_THROW(write_site(full.string(), results, {"x"}), Error);
  EXPECT_THROW(write_site(file.string(), results, {"x"}), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(full), fs::directory_iterator()), 1);
}

// The new data's folder is hidden behind a file, as on a disk that takes no more: the old site stays whole.
TEST(WriteSite, a_failure_leaves_the_old_site) {
  const TemporaryFolder folder;
  const fs::path site = fs::path(folder.path()) / "site", other = fs::path(folder.path()) / "other";
  write_site(site.string(), collect(example_study()), {"First"});
  write_site(other.string(), collect(example_flood(10, 5)), {"Second"});
  for (const fs::directory_entry& entry : fs::directory_iterator(other))
    if (entry.is_directory()) write_file_atomic((site / entry.path().filename()).string(), "in the way");
  const std::string before = read_text((site / "index.html").string());
  EXPECT_THROW(write_site(site.string(), collect(example_flood(10, 5)), {"Second"}), Error);
  EXPECT_EQ(read_text((site / "index.html").string()), before);
}

}  // namespace
}  // namespace deepgap
