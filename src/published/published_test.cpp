#include "record/published.h"
#include "analysis/point_summary.h"
#include "base/file.h"
#include "base/test_error.h"
#include "published/import_csv.h"
#include "published/import_deepgap.h"
#include "record/averaged.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& work) { return failure_of(work).what(); }

Imported import_file(const std::string& name) {
  const std::string path = "studies/published/" + name;
  const CsvTable table = parse_csv(read_text(path), path);
  return import_csv(table, mapping_for(table.header, path), "");
}

TEST(ImportCsv, TheSixCostsAreFoundAndNothingElse) {
  const Imported imported = import_file("v100_p100_cost.csv");
  ASSERT_EQ(imported.records.size(), 6U);
  ASSERT_EQ(imported.contradictions.size(), 6U);
  constexpr double expected[] = {0.00357, 0.00729, 0.00174, 0.00424, 0.00113, 0.0023};
  for (size_t i = 0; i < 6; ++i) {
    const Contradiction& found = imported.contradictions[i];
    EXPECT_EQ(found.row, static_cast<int>(i) + 1);
    EXPECT_EQ(found.column, "usd_per_1000_images");
    EXPECT_NEAR(found.expected, expected[i], 0.000005);
    EXPECT_EQ(found.formula, "usd_per_hour / throughput_img_s / 3.6");
    EXPECT_NEAR(imported.records[i].estimates.at("cost_per_1000_items").value, expected[i], 0.000005);
  }
}

TEST(ImportCsv, TheRunsOfThatReportAgree) {
  const Imported imported = import_file("v100_p100_resnet50.csv");
  EXPECT_EQ(imported.records.size(), 49U);
  EXPECT_TRUE(imported.contradictions.empty());
  EXPECT_EQ(imported.records[4].repeat, 1);  // batch 32 ran twice
  EXPECT_EQ(imported.records[48].point.placement.devices.size(), 2U);
  EXPECT_DOUBLE_EQ(imported.records[0].estimates.at("gpu_utilization").value, 0.0348);
  EXPECT_EQ(imported.records[48].estimates.count("device_memory_reserved_mib"), 0U);
}

TEST(ImportCsv, SwappedCellsAreTwoFindings) {
  const Imported imported = import_file("training_intensity.csv");
  ASSERT_EQ(imported.contradictions.size(), 3U);
  EXPECT_EQ(imported.contradictions[0].row, 2);
  EXPECT_EQ(imported.contradictions[0].column, "intensity_flop_byte");
  EXPECT_NEAR(imported.contradictions[0].expected, 0.9508, 0.00005);
  EXPECT_EQ(imported.contradictions[1].row, 2);
  EXPECT_EQ(imported.contradictions[1].column, "step_time_s");
  EXPECT_DOUBLE_EQ(imported.contradictions[1].expected, 0.9235);
  EXPECT_EQ(imported.contradictions[2].row, 5);
  EXPECT_NEAR(imported.contradictions[2].expected, 12.38, 0.005);
  EXPECT_DOUBLE_EQ(imported.records[1].estimates.at("step_ms").value, 923.5);
  EXPECT_EQ(imported.records[1].point.task, Task::train);
}

TEST(ImportCsv, MlperfsTableTellsNoBatch) {
  const Imported imported = import_file("mlperf_resnet50.csv");
  EXPECT_EQ(imported.records.size(), 29U);
  EXPECT_TRUE(imported.contradictions.empty());
  EXPECT_EQ(imported.records[0].point.batch, 0);
  ASSERT_EQ(imported.notes.size(), 1U);
  EXPECT_THAT(imported.notes[0], HasSubstr("29 of 29 rows have no batch"));
}

TEST(ImportCsv, GnmtOfTheServerWithFourGpus) {
  const Imported imported = import_file("mlperf_gnmt.csv");
  ASSERT_EQ(imported.records.size(), 2U);
  EXPECT_TRUE(imported.contradictions.empty());
  const Record& server = imported.records[1];
  EXPECT_EQ(server.point.model + " " + server.point.scenario, "gnmt server");
  EXPECT_EQ(server.point.placement.devices.size(), 4U);
  EXPECT_DOUBLE_EQ(server.estimates.at("throughput").value, 828.57);
  EXPECT_DOUBLE_EQ(server.estimates.at("latency_p99_ms").value, 274.621);
}

TEST(ImportCsv, RecordsSayWhoPublishedThem) {
  const CsvTable table = parse_csv("model,device_name,batch,throughput\nresnet50,NVIDIA L4,8,1200\nresnet50,NVIDIA L4,8,1200\n", "a.csv");
  const Imported imported = import_csv(table, mapping_for(table.header, "a.csv"), "somebody-2026");
  ASSERT_EQ(imported.records.size(), 1U);
  EXPECT_THAT(imported.notes.at(0), HasSubstr("row 2 is row 1 again"));
  const Record& record = imported.records[0];
  EXPECT_EQ(publisher_of(record.point), "somebody-2026");
  EXPECT_TRUE(record.unchecked);
  EXPECT_EQ(identity_of(record).device, "NVIDIA L4");
  EXPECT_EQ(import_csv(table, mapping_for(table.header, "a.csv"), "somebody-2026").records[0].record_id, record.record_id);
}

TEST(ImportDeepgap, ReadsEveryColumnThatAnExportHas) {
  const CsvTable table = parse_csv(
      "record_id,point_id,task,model,backend,device,precision,batch,scenario,options,outcome,unit,refused_by,refused_at,timestamp,odd\n"
      "r1,,train,resnet18,native,cpu,fp32,8,batch,,refused,step,native,load,2026-11-21T07:15:00.250Z,words\n",
      "a.csv");
  const Imported imported = import_deepgap(table);
  ASSERT_EQ(imported.records.size(), 1U);
  const Facts& facts = imported.records[0].facts;
  EXPECT_EQ(std::get<std::string>(facts.at("unit")), "step");
  EXPECT_EQ(std::get<std::string>(facts.at("refused.by")), "native");
  EXPECT_EQ(std::get<std::string>(facts.at("refused.at")), "load");
  ASSERT_EQ(imported.notes.size(), 1U);
  EXPECT_EQ(imported.notes[0], "not read, because they are not numbers: odd");
}

constexpr const char* by_point_header =
    "record_id,point_id,task,model,backend,device,precision,batch,scenario,options,outcome,verdict,throughput,throughput_ci_low,"
    "throughput_ci_high,repeats,records,nodes,machine,tags,notes,currency\n";

// An average is no repeat: it says of how many it is, in the Point.
TEST(ImportDeepgap, ARowByPointIsAnAverageThatSaysSo) {
  const std::string text = std::string(by_point_header) +
                           ",p1,infer,resnet18,native,cpu,fp32,8,batch,pin=on,ok,valid,100,95,105,3,4,2,\"A, 8 cores; B, 8 cores\",,,\n" +
                           ",p2,infer,resnet18,native,cpu,fp32,16,batch,,refused,,,,,0,3,,,,,\n";
  const Imported imported = import_deepgap(parse_csv(text, "a.csv"));
  ASSERT_EQ(imported.records.size(), 2U);
  const Record& record = imported.records[0];
  EXPECT_EQ(record.point.options.at("averaged"), "on");
  EXPECT_EQ(repeats_in(record), 3);
  EXPECT_EQ(records_in(record), 4);
  EXPECT_EQ(repeats_in(imported.records[1]), 0);
  EXPECT_THAT(imported.notes.at(0), HasSubstr("2 rows are of points, averages over repeats that are not in them"));
  const PointSummary point = summarize_points(std::vector{record}).at(0);
  EXPECT_EQ(point.node_count(), 2);
  EXPECT_EQ(point.machines, (std::set<std::string>{"A, 8 cores", "B, 8 cores"}));
}

// ... also where the average was exported again: then the mark is in the row already.
TEST(ImportDeepgap, AnAverageOfAnAverageIsThatAverage) {
  const auto row = [](const std::string& options) {
    return ",p1,infer,resnet18,native,cpu,fp32,8,batch," + options + ",ok,valid,100,95,105,3,3,,,,,\n";
  };
  const auto imported = [&](const std::string& options) {
    return import_deepgap(parse_csv(by_point_header + row(options), "a.csv")).records.at(0);
  };
  EXPECT_EQ(imported("pin=on").record_id, imported("averaged=on;pin=on").record_id);
  EXPECT_EQ(imported("pin=on").point, imported("averaged=on;pin=on").point);
}

TEST(ImportDeepgap, TagsNotesAndTheCurrencyComeBack) {
  const auto imported = [](const std::string& tags, const std::string& notes) {
    return import_deepgap(parse_csv(
        by_point_header + ("r1,,infer,resnet18,native,cpu,fp32,8,batch,,ok,valid,100,,,,,,," + tags + "," + notes + ",EUR\n"), "a.csv"));
  };
  const Imported all = imported("2;old", "broke once; fan was broken");
  const Record& record = all.records.at(0);
  EXPECT_TRUE(all.notes.empty()) << all.notes[0];
  EXPECT_EQ(record.annotations, (Annotations{{"2", "old"}, {"broke once", "fan was broken"}}));
  EXPECT_EQ(std::get<std::string>(record.facts.at("published.currency")), "EUR");
  EXPECT_FALSE(is_averaged(record.point));
  EXPECT_EQ(imported("", "first; a note that holds the separator").records.at(0).annotations.notes.size(), 1U);
}

TEST(ImportDeepgap, AnUnknownTaskIsRefused) {
  const std::string row = "r1,,chat,resnet18,native,cpu,fp32,8,batch,,ok,valid,100,,,,,,,,,\n";
  EXPECT_EQ(error_of([&] { import_deepgap(parse_csv(by_point_header + row, "a.csv")); }),
            "a.csv:2: invalid value 'chat' for task: expected a task such as infer");
}

TEST(ImportDeepgap, ARecordThatIsTwiceInIt) {
  const std::string row = "r1,,infer,resnet18,native,cpu,fp32,8,batch,,ok,valid,100,,,,,,,,,\n";
  EXPECT_EQ(error_of([&] { import_deepgap(parse_csv(by_point_header + row + row, "a.csv")); }),
            "a.csv:3: it is the record of line 2 again");
}

TEST(ImportCsv, BadTablesAreOneLine) {
  const auto error = [](const std::string& text) {
    return error_of([&] {
      const CsvTable table = parse_csv(text, "a.csv");
      import_csv(table, mapping_for(table.header, "a.csv"), "s");
    });
  };
  EXPECT_EQ(error("model,batch,throughput\nx,1,\"38,5\"\n"),
            "a.csv:2: throughput: '38,5' has a comma: write 38.5 with a point, and no comma between thousands");
  EXPECT_THAT(error("model,batch,throughput\nx,1,38,5\n"), HasSubstr("a.csv:2: 4 cells under 3 columns"));
  EXPECT_THAT(error("model;batch\nx;1\n"), HasSubstr("separated by ';'"));
  EXPECT_THAT(error("model,batch,throughput\nx,1,-3\n"), HasSubstr("is negative"));
  EXPECT_THAT(error("model,batch,throughput\nx,1.5,3\n"), HasSubstr("'1.5' is not a whole number"));
  EXPECT_THAT(error("model,batch,througput\nx,1,3\n"), HasSubstr("deepgap does not know 'througput'"));
  EXPECT_THAT(error("model,model\nx,1\n"), HasSubstr("two columns are named 'model'"));
  EXPECT_THAT(error("model,task,throughput\nx,chat,3\n"),
              HasSubstr("invalid value 'chat' for task: expected infer, train or generate; the"));
  EXPECT_THAT(error("model,throughput\n"), HasSubstr("no row below the header"));
  EXPECT_THAT(error("model,throughput\n,3\n"), HasSubstr("no model"));
  EXPECT_THAT(error("model,throughput\n\"x,3\n"), HasSubstr("a quote begins here"));
  EXPECT_THAT(error(""), HasSubstr("no table"));
}

TEST(Mapping, BadOnesAreOneLine) {
  const auto error = [](const std::string& text) { return error_of([&] { read_mapping(text, "m.toml"); }); };
  EXPECT_EQ(error("[columns]\nt = { is = \"latency_p50_ms\", unit = \"MB\" }\n"),
            "m.toml:2: 'latency_p50_ms' is kept in ms, which MB does not fit");
  EXPECT_THAT(error("[columns]\nt = \"throughputs\"\n"), HasSubstr("did you mean 'throughput'?"));
  EXPECT_THAT(error("[columns]\nt = { is = \"model\", unit = \"s\" }\n"), HasSubstr("'model' has no unit"));
  EXPECT_THAT(error("[all]\nthroughput = 3\n"), HasSubstr("[all] is for what was measured"));
  EXPECT_THAT(error("name = \"x\"\n"), HasSubstr("no [columns]"));
  const Mapping mapping = read_mapping("[columns]\nmodel = \"model\"\nspeed = \"throughput\"\n", "m.toml");
  const CsvTable table = parse_csv("model,throughput\nx,3\n", "a.csv");
  EXPECT_THAT(error_of([&] { import_csv(table, mapping, "s"); }),
              HasSubstr("m.toml names a column that is not there: unknown column 'speed'"));
}

TEST(Relations, RoundingIsNoContradiction) {
  EXPECT_DOUBLE_EQ(half_unit_of("12.50"), 0.005);
  EXPECT_DOUBLE_EQ(half_unit_of("5610"), 0.5);
  EXPECT_DOUBLE_EQ(half_unit_of("1.2e-3"), 0.00005);
  const auto row = [](double per_device, double half) {
    return std::map<std::string, Printed>{{"throughput", {"total", 22438, 0.5, 1}},
                                          {"device_count", {"n", 4, 0, 1}},
                                          {"throughput_per_device", {"each", per_device, half, 1}}};
  };
  EXPECT_TRUE(contradictions_in(row(5610, 0.5)).empty());
  EXPECT_TRUE(contradictions_in(row(5600, 50)).empty());
  EXPECT_EQ(contradictions_in(row(5611, 0.5)).size(), 1U);
}

}  // namespace
}  // namespace deepgap
