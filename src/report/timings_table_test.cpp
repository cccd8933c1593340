#include "report/timings_table.h"

#include "analysis/metric.h"
#include "record/marked_parts.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace deepgap {
namespace {

Record example() {
  Record record;
  record.record_id = "abc";
  record.repeat = 2;
  record.outcome = Outcome::ok;
  record.windows = {{"warm_up", 0, 1000}, {"steady", 1000, 9000}};
  record.timings = {{7, 1000, 1100, 3333, 1, Status::ok}, {8, 900, 1200, 4000, 4, Status::failed}};
  return record;
}

TEST(TimingsTable, IsARowAQueryFromTheBeginningOfTheWindow) {
  EXPECT_EQ(timings_header(),
            "record_id,point_id,repeat,query,due_ns,issued_ns,done_ns,latency_ms,samples,status,"
            "copy_in_ms,compute_ms,copy_out_ms,forward_ms,backward_ms,allreduce_ms,update_ms,"
            "input_tokens,output_tokens,cached_tokens,ttft_ms,tpot_ms\n");
  const std::string rows = timings_rows(example());
  EXPECT_THAT(rows, testing::StartsWith("abc,"));
  EXPECT_THAT(rows, testing::HasSubstr(",3,7,0,100,2333,0.002333,1,ok,,,,,,,,,,,,\n"));
  EXPECT_THAT(rows, testing::HasSubstr(",3,8,-100,200,3000,0.0031,4,failed,,,,,,,,,,,,\n"));
  EXPECT_EQ(timings_rows(Record()), "");
  const auto json = nlohmann::json::parse("[" + timings_objects(example()) + "]");
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["record_id"], "abc");
  EXPECT_EQ(json[0]["repeat"], 3) << "from 1, as in the table of records";
  EXPECT_EQ(json[0]["latency_ms"], 0.002333);
  EXPECT_EQ(json[1]["status"], "failed");
}

TEST(TimingsTable, HasThePartsOfAQueryByTheEnginesMarks) {
  Record record = example();
  record.series = {{marks_probe, "compute_ms", "ms", false, {4000}, {0.25}}};
  const std::string rows = timings_rows(record);
  EXPECT_THAT(rows, testing::HasSubstr("0.002333,1,ok,,,,,,,,,,,,\n"));
  EXPECT_THAT(rows, testing::HasSubstr("0.0031,4,failed,,0.25,,,,,,,,,,\n"));
  const auto json = nlohmann::json::parse("[" + timings_objects(record) + "]");
  EXPECT_TRUE(json[0].at("compute_ms").is_null());
  EXPECT_EQ(json[1]["compute_ms"], 0.25);
}

// Computes percentiles as others do: from the text alone, sorted, by nearest rank.
TEST(TimingsTable, PercentilesOfTheRowsAreThoseOfTheRecord) {
  Record record = example();
  record.timings.clear();
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < 9999; ++i) {
    const auto due = static_cast<Nanoseconds>(1000 + 800 * i), latency = static_cast<Nanoseconds>(random() % 7'654'321);
    record.timings.push_back({i, due, due + 10, due + latency, 1, i % 100 == 0 ? Status::failed : Status::ok});
  }
  std::vector<double> latencies;
  std::istringstream rows(timings_rows(record));
  for (std::string row; std::getline(rows, row);) {
    if (row.find(",ok,") == std::string::npos) continue;
    std::vector<std::string> cells;
    std::istringstream line(row);
    for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
    latencies.push_back(std::stod(cells[7]));
  }
  std::sort(latencies.begin(), latencies.end());
  compute_metrics(record);
  for (const auto& [id, percent] : {std::pair("latency_p50_ms", 50.0), {"latency_p90_ms", 90.0}, {"latency_p99_ms", 99.0}}) {
    const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(latencies.size())));
    EXPECT_EQ(record.estimates.at(id).value, latencies[rank - 1]) << id;
  }
  EXPECT_EQ(record.estimates.at("latency_max_ms").value, latencies.back());
  EXPECT_EQ(record.estimates.at("latency_min_ms").value, latencies.front());
}

}  // namespace
}  // namespace deepgap
