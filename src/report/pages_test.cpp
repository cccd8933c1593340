// The pages of compare and trend. DEEPGAP_PAGES=FOLDER keeps them, to look at.
#include "base/file.h"
#include "report/compare_page.h"
#include "report/occurrences.h"
#include "report/trend_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void keep(const std::string& name, const std::string& page) {
  if (const char* folder = std::getenv("DEEPGAP_PAGES")) write_file_atomic(fmt::format("{}/{}", folder, name), page);
}

void expect_loads_nothing(const std::string& page) {
  for (const char* part : {"http://", "https://", "src=", "@import", "url(", "<link", "<img", "<script"})
    EXPECT_THAT(page, Not(HasSubstr(part)));
}

ComparedStores compared(size_t points) {
  ComparedStores stores{
      "throughput", "before.db", "after.db", 0.02, "1 slower, 2 same within 2 %", {}, {"deepgap.git: a in before.db, b in after.db"}};
  for (size_t i = 0; i < points; ++i) {
    const double ratio = 1 + 0.01 * std::sin(static_cast<double>(i));
    stores.points.push_back(
        {{fmt::format("resnet{} \u00b7 native \u00b7 batch 8", i), ratio, ratio * 0.99, ratio * 1.01, i % 3 == 0, "tip"},
         "101 +- 1",
         "100 +- 1",
         "1.01 (1.00 to 1.02)",
         "same within 2 %"});
  }
  return stores;
}

TEST(ComparePage, has_a_row_and_a_bar_for_each_point) {
  ComparedStores stores = compared(5);
  stores.points[1].row.label = "<model>";
  stores.points[2].row.low.reset();
  const std::string page = compare_page(stores);
  keep("compare.html", page);
  expect_loads_nothing(page);
  EXPECT_EQ(occurrences(page, "<svg"), 1u);
  EXPECT_EQ(occurrences(page, "class=\"bar\""), 4u);
  EXPECT_EQ(occurrences(page, "<tr>"), 6u);
  EXPECT_THAT(page, HasSubstr("after.db against before.db"));
  EXPECT_THAT(page, HasSubstr("deepgap.git: a in before.db"));
  EXPECT_THAT(page, Not(HasSubstr("<model>")));
}

TEST(ComparePage, stays_small_and_says_so) {
  const std::string page = compare_page(compared(500));
  EXPECT_LT(page.size(), 150'000u);
  EXPECT_THAT(page, HasSubstr("The 60 of 500 points that are furthest from 1"));
  const std::string none = compare_page({"throughput", "a", "b", 0.02, "nothing to compare", {}, {}});
  EXPECT_THAT(none, HasSubstr("nothing to compare"));
  EXPECT_THAT(none, Not(HasSubstr("<table")));
}

TrendSeries nights(size_t runs, size_t change) {
  TrendSeries series;
  series.device = "a CPU, 2 CPUs";
  for (size_t i = 0; i < runs; ++i)
    series.runs.push_back({1'795'243'000'000'000'000 + static_cast<int64_t>(i) * 86'400'000'000'000, fmt::format("v{}", i),
                           (i < change ? 100 : 93) + std::sin(static_cast<double>(i) * 7)});
  if (change < runs) series.changes = {{change, 0.002, 100, 93}};
  return series;
}

TEST(TrendPage, marks_the_change) {
  const TrendSeries changed = nights(40, 25), steady = nights(20, 20);
  TrendPage trend{"throughput", "items/s", "", "1 of 2 series changed", {}};
  trend.shown = {{&changed, "resnet50 <native>", changed.device, {"worse: 0.93 times from v25 on"}},
                 {&steady, "resnet18", steady.device, {}}};
  const std::string page = trend_page(trend);
  keep("trend.html", page);
  expect_loads_nothing(page);
  EXPECT_EQ(occurrences(page, "<svg"), 2u);
  EXPECT_EQ(occurrences(page, "<circle"), 60u);
  EXPECT_EQ(occurrences(page, "class=\"found\""), 2u) << "the level before with the line, and the level since";
  EXPECT_EQ(occurrences(page, "<h2>"), 1u) << "one machine";
  EXPECT_THAT(page, HasSubstr("worse: 0.93 times from v25 on"));
  EXPECT_THAT(page, Not(HasSubstr("<native>")));
  EXPECT_THAT(page, HasSubstr("throughput (items/s)"));
  trend.control = "backend=onnxruntime";
  EXPECT_THAT(trend_page(trend), HasSubstr("over the control&#39;s"));
}

TEST(TrendPage, stays_small_and_draws_what_changed_first) {
  const TrendSeries changed = nights(40, 25), steady = nights(40, 40);
  TrendPage trend{"throughput", "items/s", "", "1 of 200 series changed", {}};
  for (int i = 0; i < 199; ++i) trend.shown.push_back({&steady, "steady", "", {"no change found"}});
  trend.shown.push_back({&changed, "changed", "", {"worse"}});
  const std::string page = trend_page(trend);
  EXPECT_EQ(occurrences(page, "<svg"), 60u);
  EXPECT_EQ(occurrences(page, "class=\"found\""), 2u) << "the one that changed is among them";
  EXPECT_THAT(page, HasSubstr("140 more series are not drawn"));
  EXPECT_LT(page.size(), 700'000u);
}

TEST(TrendPage, one_run_and_what_is_no_number_are_not_drawn) {
  EXPECT_EQ(trend_svg(nights(1, 1), "x", ""), "");
  TrendSeries series = nights(5, 5);
  series.runs[2].value = NAN;
  EXPECT_EQ(trend_svg(series, "x", ""), "");
  series.runs = nights(5, 5).runs;
  for (TrendRun& run : series.runs) run.value = 7;
  EXPECT_THAT(trend_svg(series, "x", ""), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace deepgap
