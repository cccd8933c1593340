#include "published/import_telemetry.h"

#include "base/test_error.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* header = "time,device,name,unit,value,counter,window,record_id\n";
constexpr int64_t begin = 1'763'708'400'000'000'000;  // 2025-11-21T07:00:00Z

std::vector<Record> two_records() {
  std::vector<Record> records(2);
  records[0].record_id = "a";
  records[1].record_id = "b";
  for (Record& record : records) record.started_unix_ns = begin;
  return records;
}

int64_t add(const std::string& rows, std::vector<Record>& records) { return add_telemetry(parse_csv(header + rows, "t.csv"), records); }

TEST(ImportTelemetry, ReadingsGoToTheirRecordsAsSeriesFromItsStart) {
  std::vector<Record> records = two_records();
  const int64_t left =
      add("2025-11-21T07:00:01.000Z,cuda:0,power,W,70.5,false,warm_up,a\n"
          "2025-11-21T07:00:02.250Z,cuda:0,power,W,80,false,steady,a\n"
          "2025-11-21T07:00:03.250Z,cuda:0,energy,J,900,true,steady,a\n"
          "2025-11-21T07:00:01.000Z,cpu,cpu_time,s,3,true,steady,b\n"
          "2025-11-21T07:00:01.000Z,cpu,cpu_time,s,3,true,steady,gone\n",
          records);
  EXPECT_EQ(left, 1);
  ASSERT_EQ(records[0].series.size(), 2U);
  EXPECT_EQ(records[0].series[0].name, "power.cuda0");
  EXPECT_EQ(records[0].series[0].probe, "nvml");
  EXPECT_THAT(records[0].series[0].times, ElementsAre(1'000'000'000, 2'250'000'000));
  EXPECT_THAT(records[0].series[0].values, ElementsAre(70.5, 80));
  EXPECT_TRUE(records[0].series[1].counter);
  ASSERT_EQ(records[0].windows.size(), 2U);
  EXPECT_EQ(records[0].windows[1].name, "steady");
  EXPECT_EQ(records[0].windows[1].end, 3'250'000'000);
  ASSERT_EQ(records[1].series.size(), 1U);
  EXPECT_EQ(records[1].series[0].probe, "proc");
}

TEST(ImportTelemetry, ServersStayApartFromThisMachine) {
  std::vector<Record> records = two_records();
  add("2025-11-21T07:00:01.000Z,server:1,power,W,70.5,false,steady,a\n"
      "2025-11-21T07:00:01.000Z,server,pending_requests,1,3,false,steady,a\n"
      "2025-11-21T07:00:01.000Z,server.2:0,power,W,80,false,steady,a\n",
      records);
  ASSERT_EQ(records[0].series.size(), 3U);
  EXPECT_EQ(records[0].series[0].probe + " " + records[0].series[0].name, "server power.gpu1");
  EXPECT_EQ(records[0].series[1].probe + " " + records[0].series[1].name, "server pending_requests");
  EXPECT_EQ(records[0].series[2].probe + " " + records[0].series[2].name, "server.2 power.gpu0");
}

TEST(ImportTelemetry, WhatIsWrongIsToldWithItsLine) {
  std::vector<Record> records = two_records();
  EXPECT_FALSE(is_telemetry(parse_csv("time,device\n1,2\n", "t.csv")));
  for (const auto& [rows, told] :
       {std::pair("yesterday,cpu,cpu_time,s,3,true,steady,a\n", "t.csv:2: invalid value 'yesterday' for time"),
        std::pair("2025-11-21T07:00:01.000Z,cpu,cpu_time,s,much,true,steady,a\n", "invalid value 'much' for value: expected a number")}) {
    try {
      add(rows, records);
      FAIL() << told;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(told));
    }
  }
}

}  // namespace
}  // namespace deepgap
