#include "report/telemetry_table.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

constexpr Nanoseconds second = 1'000'000'000;

Record example() {
  Record record;
  record.record_id = "abc";
  record.started_unix_ns = 1'795'334'400 * second;  // 2026-11-22T08:00:00Z
  record.facts["clock.begin_ns"] = int64_t{100 * second};
  record.windows = {{"load", 101 * second, 102 * second}, {"steady", 102 * second, 105 * second}};
  record.series.push_back({"nvml", "power.cuda0", "W", false, {101 * second, 102 * second, 103 * second + second / 2}, {70.5, 250, 300}});
  record.series.push_back({"nvml", "clock_sm.cuda0", "Hz", false, {101 * second, 103 * second}, {1.98e9, 1.755e9}});
  record.series.push_back({"nvml", "utilization.cuda0", "1", false, {102 * second}, {0.87}});
  record.series.push_back({"nvml", "performance_state.cuda0", "1", false, {101 * second}, {0}});
  record.series.push_back({"proc", "machine_busy", "s", true, {102 * second}, {12.5}});
  return record;
}

TEST(TelemetryRows, AreALineAReading) {
  const std::string rows = telemetry_rows(example());
  EXPECT_TRUE(telemetry_header().starts_with("time,device,name,unit,value,"));
  EXPECT_THAT(rows, testing::StartsWith("2026-11-22T08:00:01.000Z,cuda:0,power,W,70.5,false,load,abc\n"));
  EXPECT_THAT(rows, testing::HasSubstr("2026-11-22T08:00:03.500Z,cuda:0,power,W,300,false,steady,abc\n"));
  EXPECT_THAT(rows, testing::HasSubstr("2026-11-22T08:00:02.000Z,cpu,machine_busy,s,12.5,true,"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 8);
  EXPECT_EQ(telemetry_rows(Record()), "");
}

TEST(TelemetryRows, AServersWordsAreCells) {
  Record record = example();
  record.series = {{"server", "=cmd(1),\x1b[31m", "\"W\"", false, {102 * second}, {1}}};
  EXPECT_THAT(telemetry_rows(record), testing::HasSubstr(",server,\"'=cmd(1), [31m\",\"\"\"W\"\"\",1,false,"));
}

TEST(TelemetryRows, TellServersApartFromThisMachine) {
  const auto name = [](const char* probe, const char* series) {
    const SeriesName told = series_name({probe, series, "W", false, {}, {}});
    return told.device + " " + told.name;
  };
  EXPECT_EQ(name("server", "power.gpu1"), "server:1 power");
  EXPECT_EQ(name("server", "pending_requests"), "server pending_requests");
  EXPECT_EQ(name("server.1", "power.gpu0"), "server.1:0 power");
  EXPECT_EQ(name("nvml", "power.cuda0"), "cuda:0 power");
  EXPECT_EQ(name("proc", "power.gpu0"), "cpu power.gpu0");
}

TEST(TelemetryLog, IsALineASecondAndGpu) {
  const std::string log = telemetry_log(example());
  EXPECT_EQ(telemetry_log_header(),
            "timestamp, index, temperature.gpu, power.draw [W], utilization.gpu [%], utilization.memory [%], memory.used [MiB], "
            "clocks.current.sm [MHz], clocks.current.memory [MHz], pstate\n");
  EXPECT_EQ(log,
            "2026/11/22 08:00:02.000, 0, [N/A], 250.00, 87, [N/A], [N/A], 1980, [N/A], P0\n"
            "2026/11/22 08:00:03.000, 0, [N/A], 250.00, 87, [N/A], [N/A], 1755, [N/A], P0\n"
            "2026/11/22 08:00:03.500, 0, [N/A], 300.00, 87, [N/A], [N/A], 1755, [N/A], P0\n");
  Record cpu = example();
  std::erase_if(cpu.series, [](const Series& series) { return series.probe == "nvml"; });
  EXPECT_EQ(telemetry_log(cpu), "");
}

}  // namespace
}  // namespace deepgap
