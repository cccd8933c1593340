#include "report/export_table.h"

#include "base/file.h"
#include "record/example_record.h"
#include "record/record_json.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <set>

namespace deepgap {
namespace {

using nlohmann::json;

// The order that scripts rely on.
constexpr const char* promised =
    "record_id,point_id,task,model,backend,device,device_count,precision,batch,scenario,threads,options,repeat,outcome,verdict,reason,"
    "throughput,throughput_ci_low,throughput_ci_high,throughput_median,latency_mean_ms,latency_std_ms,latency_p50_ms,latency_p90_ms,"
    "latency_p99_ms,timings,load_s,compile_s,first_result_ms,device_memory_mib,host_memory_mib,power_w,energy_j_per_item,"
    "items_per_s_per_w,flop_per_item,";

struct Exported {
  std::string text;
  ExportWriter writer;
  explicit Exported(ExportFormat format, const std::vector<std::string>& metrics = {})
      : writer(format, export_columns(metrics), [this](std::string_view piece) { text += piece; }) {}
};

json exported(const Record& record, std::optional<int64_t> timings = 5) {
  Exported out(ExportFormat::json, {"latency_example00_ms"});
  out.writer.add(record, timings);
  out.writer.finish();
  return json::parse(out.text).at(0);
}

TEST(ExportTable, ColumnsStandInTheirOrder) {
  Exported out(ExportFormat::csv);
  out.writer.finish();
  EXPECT_EQ(out.text.rfind(promised, 0), 0u) << out.text;
  EXPECT_EQ(out.text.back(), '\n');
  std::set<std::string> names;
  for (const ExportColumn& column : export_columns({"throughput", "b_new", "a_new", "a_new"}))
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
  EXPECT_TRUE(names.count("a_new") == 1 && names.count("b_new") == 1);
  for (const char* name : {"timestamp", "study", "sweep", "iterations", "warmup_iterations", "host", "os", "kernel", "cpu_model", "sockets",
                           "cores", "threads_per_core", "memory_gib", "backend_version", "run_id", "unchecked", "check_sqnr_db"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(ExportTable, TheEndOfStandardErrorIsOnOneLine) {
  Record record = example_record(1);
  record.stderr_tail = "loading\nterminate called\n";
  EXPECT_EQ(exported(record).at("stderr_tail"), "loading terminate called ");
  record.stderr_tail.clear();
  EXPECT_TRUE(exported(record).at("stderr_tail").is_null());
}

TEST(ExportTable, TagsAndNotesAreColumns) {
  Record record = example_record(1);
  EXPECT_TRUE(exported(record).at("tags").is_null());
  record.annotations = {{"old", "good"}, {"fan was broken"}};
  EXPECT_EQ(exported(record).at("tags"), "good;old");
  EXPECT_EQ(exported(record).at("notes"), "fan was broken");
}

TEST(ExportTable, EveryFixedColumnIsDocumented) {
  const std::string page = read_text("docs/reference/database.md");
  for (const ExportColumn& column : export_columns({})) EXPECT_NE(page.find("`" + column.name + "`"), std::string::npos) << column.name;
}

TEST(ExportTable, CsvFieldsAreQuotedWhereTheyMust) {
  EXPECT_EQ(csv_field(std::string("plain")), "plain");
  EXPECT_EQ(csv_field(std::string("a,b")), "\"a,b\"");
  EXPECT_EQ(csv_field(std::string("say \"x\"")), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field(std::string("two\nlines")), "\"two\nlines\"");
  EXPECT_EQ(csv_field({}), "");
  EXPECT_EQ(csv_field(std::nan("")), "");
  EXPECT_EQ(csv_field(0.1), "0.1");
  EXPECT_EQ(csv_field(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(csv_field(int64_t{-7}), "-7");
  EXPECT_EQ(csv_field(true), "true");
}

TEST(ExportTable, NoTextIsAFormula) {
  EXPECT_EQ(csv_field(std::string("=cmd|' /C calc'!A0")), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(csv_field(std::string("=HYPERLINK(\"x\",1)")), "\"'=HYPERLINK(\"\"x\"\",1)\"");
  for (const char* text : {"+1", "-1", "@x", "\tx"}) EXPECT_EQ(csv_field(std::string(text)), "'" + std::string(text));
  EXPECT_EQ(csv_field(std::string("\r=1")), "' =1");
  EXPECT_EQ(csv_field(std::string("a=b")), "a=b");
  EXPECT_EQ(csv_field(-1.5), "-1.5");
  EXPECT_EQ(json_value(std::string("=1")), "\"=1\"");
}

TEST(ExportTable, JsonValuesHaveTheirTypes) {
  EXPECT_EQ(json_value({}), "null");
  EXPECT_EQ(json_value(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json_value(std::string("a\"\n")), "\"a\\\"\\n\"");
  EXPECT_EQ(json_value(2.5), "2.5");
  EXPECT_EQ(json_value(false), "false");
  EXPECT_NO_THROW(json::parse(json_value(std::string("\xFF"))));
}

TEST(ExportTable, ARecordsValuesStandUnderTheirNames) {
  Record record = example_record(1);
  record.point.options = {{"b", "2"}, {"a", "1,5"}};
  record.environment["os.kernel"] = std::string("6.1.0");
  record.started_unix_ns = 1'732'173'300'250'000'000;
  const json row = exported(record);
  EXPECT_EQ(row.at("record_id"), record.record_id);
  EXPECT_EQ(row.at("point_id"), point_id(record.point));
  EXPECT_EQ(row.at("device"), "cpu");
  EXPECT_EQ(row.at("device_count"), 1);
  EXPECT_EQ(row.at("batch"), record.point.batch);
  EXPECT_EQ(row.at("options"), "a=1,5;b=2");
  EXPECT_EQ(row.at("outcome"), "ok");
  EXPECT_EQ(row.at("verdict"), "valid");
  EXPECT_TRUE(row.at("reason").is_null());
  EXPECT_EQ(row.at("throughput"), record.estimates.at("throughput").value);
  EXPECT_EQ(row.at("throughput_ci_low"), *record.estimates.at("throughput").low);
  EXPECT_EQ(row.at("throughput_ci_high"), *record.estimates.at("throughput").high);
  EXPECT_TRUE(row.at("throughput_median").is_null());  // this Record has no such metric
  EXPECT_EQ(row.at("timings"), 5);
  EXPECT_EQ(row.at("iterations"), 5);
  EXPECT_EQ(row.at("warmup_iterations"), 20);
  EXPECT_EQ(row.at("load_s"), *record.load_s);
  EXPECT_EQ(row.at("flop_per_item"), 8'178'368'512);
  EXPECT_EQ(row.at("timestamp"), "2024-11-21T07:15:00.250Z");
  EXPECT_EQ(row.at("host"), "node-17.example.org");
  EXPECT_EQ(row.at("kernel"), "6.1.0");
  EXPECT_EQ(row.at("sockets"), 1);
  EXPECT_EQ(row.at("memory_gib"), 16.0);
  EXPECT_EQ(row.at("unchecked"), false);
  EXPECT_EQ(row.at("check_sqnr_db"), 118.5);
  EXPECT_EQ(row.at("check_pass"), true);
  EXPECT_EQ(row.at("latency_example00_ms"), record.estimates.at("latency_example00_ms").value);
  EXPECT_TRUE(row.at("repeats").is_null());
}

TEST(ExportTable, AFailureHasItsReasonAndNoNumbers) {
  Record record;
  record.point.model = "resnet50";
  record.outcome = Outcome::refused;
  record.reason = "no GPU here";
  record.environment["cpu.cores"] = std::string("not available: why");
  const json row = exported(record, std::nullopt);
  EXPECT_EQ(row.at("outcome"), "refused");
  EXPECT_EQ(row.at("reason"), "no GPU here");
  for (const char* name :
       {"verdict", "throughput", "timings", "iterations", "load_s", "device_memory_mib", "check_pass", "cores", "host", "flop_per_item"}) {
    EXPECT_TRUE(row.at(name).is_null()) << name;
  }
}

TEST(ExportTable, APointHasItsSummary) {
  std::vector<Record> records;
  for (int i = 0; i < 3; ++i) {
    Record record = example_record(1);
    record.repeat = i;
    record.estimates["throughput"] = {100.0 + i, 99.0 + i, 101.0 + i, 50};
    record.estimates["timings"] = {50, {}, {}, 1};
    record.estimates["latency_p99_ms"] = {10.0 + i, {}, {}, 50};
    record.environment["os.kernel"] = fmt::format("6.1.{}", i);
    record.environment["memory.available_bytes"] = int64_t{i};
    records.push_back(record);
  }
  Exported out(ExportFormat::json);
  for (const PointSummary& summary : summarize_points(records)) out.writer.add(summary);
  out.writer.finish();
  const json rows = json::parse(out.text);
  ASSERT_EQ(rows.size(), 1u);
  const json& row = rows[0];
  EXPECT_NEAR(row.at("throughput").get<double>(), 101, 1e-9);
  EXPECT_LT(row.at("throughput_ci_low").get<double>(), 100.0);  // over repeats
  EXPECT_EQ(row.at("repeats"), 3);
  EXPECT_EQ(row.at("timings"), 150);  // sum over all repeats
  EXPECT_LE(row.at("latency_p99_ms_ci_low").get<double>(), row.at("latency_p99_ms").get<double>());
  EXPECT_EQ(row.at("records"), 3);
  EXPECT_EQ(row.at("point_id"), point_id(records[0].point));
  for (const char* name : {"record_id", "repeat", "sweep", "run_id", "kernel"}) EXPECT_TRUE(row.at(name).is_null()) << name;
  EXPECT_EQ(row.at("host"), "node-17.example.org");  // alike in all Records
  EXPECT_EQ(row.at("machine").get<std::string>().substr(0, 11), "Example CPU");
}

TEST(ExportTable, NodesAreToldByRecordAndCountedByPoint) {
  std::vector<Record> records;
  for (const char* node : {"n1", "n2", "n2"}) {
    records.push_back(example_record(1));
    records.back().facts["fleet.node"] = std::string(node);
  }
  EXPECT_EQ(exported(records[0]).at("node"), "n1");
  EXPECT_EQ(exported(example_record(1)).at("node"), "node-17.example.org") << "of no fleet its host";
  EXPECT_TRUE(exported(records[0]).at("nodes").is_null());
  Exported out(ExportFormat::json);
  for (const PointSummary& summary : summarize_points(records)) out.writer.add(summary);
  out.writer.finish();
  EXPECT_EQ(json::parse(out.text).at(0).at("nodes"), 2);
  EXPECT_TRUE(json::parse(out.text).at(0).at("node").is_null());
}

TEST(ExportTable, NoRowsAreStillValid) {
  Exported out(ExportFormat::json);
  out.writer.finish();
  EXPECT_EQ(json::parse(out.text), json::array());
}

TEST(ExportTable, EveryLineHasAllColumns) {
  Exported out(ExportFormat::csv);
  for (uint64_t seed = 0; seed < 5; ++seed) out.writer.add(example_record(seed), 5);
  out.writer.finish();
  size_t lines = 0, commas = 0;
  std::set<size_t> widths;
  for (const char letter : out.text) {
    commas += letter == ',';
    if (letter != '\n') continue;
    ++lines;
    widths.insert(commas);
    commas = 0;
  }
  EXPECT_EQ(lines, 6u);
  EXPECT_EQ(widths.size(), 2u);  // the dataset's description has a comma in quotes
}

}  // namespace
}  // namespace deepgap
