#include "base/file.h"
#include "published/import_csv.h"
#include "published/mlperf_table.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* summary =
    "================================================\nMLPerf Results Summary\n================================================\n"
    "SUT name : ours\nScenario : Offline\nMode     : PerformanceOnly\nSamples per second: 812.5\nResult is : VALID\n";

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  write_file_atomic(path.string(), text);
}

fs::path tree(const char* name, bool old_layout) {
  const fs::path root = fs::path(testing::TempDir()) / name, scenario = fs::path("box") / "resnet50" / "Offline";
  fs::remove_all(root);
  put(root / "results" / scenario / "performance" / "run_1" / "mlperf_log_summary.txt", summary);
  put(root / "results" / scenario / "accuracy" / "mlperf_log_summary.txt", "of no speed");
  put(root / "results" / scenario / "TEST01" / "performance" / "run_1" / "mlperf_log_summary.txt", summary);
  put(root / (old_layout ? "measurements" : "results") / scenario / "measurements.json", R"({"weight_data_types": "int8"})");
  put(root / "systems" / "box.json",
      R"({"submitter": "we", "division": "open", "framework": "deepgap", "number_of_nodes": "1", "accelerators_per_node": "2",
          "accelerator_model_name": "NVIDIA L4", "host_processor_model_name": "Xeon"})");
  return root;
}

TEST(MlperfTree, EveryRunOfPerformanceIsARowWithItsSystem) {
  for (const bool old_layout : {false, true}) {
    const CsvTable table = mlperf_tree_table(tree("mlperf_tree", old_layout).string());
    const Imported imported = import_csv(table, mapping_for(table.header, table.path), "mlperf");
    ASSERT_EQ(imported.records.size(), 1U);
    const Record& record = imported.records[0];
    EXPECT_EQ(record.point.model, "resnet50");
    EXPECT_EQ(record.point.backend, "deepgap");
    EXPECT_EQ(record.point.precision, Precision::int8);
    EXPECT_EQ(record.point.scenario, "offline");
    EXPECT_EQ(record.point.placement.devices.size(), 2U);
    EXPECT_EQ(record.point.options.at("system"), "box");
    EXPECT_EQ(record.estimates.at("throughput").value, 812.5);
  }
}

TEST(MlperfTree, WithoutASystemTheRunAloneTells) {
  const fs::path root = tree("mlperf_tree_bare", false);
  fs::remove_all(root / "systems");
  const CsvTable table = mlperf_tree_table(root.string());
  EXPECT_EQ(table.rows.size(), 1U);
}

TEST(MlperfTree, AFolderWithoutRunsIsTold) {
  const fs::path root = fs::path(testing::TempDir()) / "no_mlperf_tree";
  fs::create_directories(root);
  try {
    mlperf_tree_table(root.string());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("performance/run_1/mlperf_log_summary.txt"));
  }
}

}  // namespace
}  // namespace deepgap
