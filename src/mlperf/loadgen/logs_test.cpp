// Our logs in virtual time beside recorded ones of LoadGen 6.0.17 (tests/data/loadgen/logs). tests/interop/loadgen compares them with
// LoadGen's own for settings drawn at random.
#include "mlperf/loadgen/logs.h"

#include "base/clocks.h"
#include "base/file.h"
#include "base/text.h"
#include "mlperf/loadgen/run_json.h"
#include "scenario/fake_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <regex>
#include <set>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int64_t a_moment_ns = 1'800'000'000'000'000'000;  // 2027-01-15 08:00:00 UTC

struct Files {
  std::string summary, detail, accuracy, trace;
};

Files run(const LoadgenSettings& settings, bool trace = false) {
  const fs::path folder = fs::path(testing::TempDir()) / "deepgap-mlperf-logs";
  fs::remove_all(folder);
  const auto clock = make_virtual_clock();
  ScriptedTarget target(*clock, {4096, 1000}, [](uint64_t) { return 700; });
  LoadgenLogs logs(folder.string(), {"6.0.17", "deepgap", "golden_null_sut", "golden_qsl"}, settings, *clock, a_moment_ns, trace);
  const std::atomic<bool> interrupted{false};
  auto results =
      drive_loadgen({settings, &target, clock.get(), &logs, [](auto, size_t) { return std::string("\x00\xAB", 2); }}, interrupted);
  const bool judged = settings.mode != LoadgenMode::accuracy;
  const LoadgenVerdict verdict = judged ? judge(settings, results.back()) : LoadgenVerdict{};
  logs.finish(judged ? &verdict : nullptr);
  const auto text = [&](const char* name) {
    const fs::path path = folder / name;
    return fs::exists(path) ? read_text(path.string()) : std::string();
  };
  return {text("mlperf_log_summary.txt"), text("mlperf_log_detail.txt"), text("mlperf_log_accuracy.json"), text("mlperf_log_trace.json")};
}

std::vector<Json> entries_of(const std::string& detail) {
  std::vector<Json> entries;
  for (const std::string& line : split(trim(detail), '\n')) {
    EXPECT_TRUE(line.starts_with(":::MLLOG {"));
    Json entry = Json::parse(line.substr(9));
    // LoadGen's own logger's troubles.
    if (entry["key"] != "warning_generic_message") entries.push_back(std::move(entry));
  }
  return entries;
}

// Values of the machine, of the moment or of LoadGen's sources.
bool is_incidental(const std::string& key, bool streams) {
  static const std::regex pattern(
      "loadgen_.*|test_datetime|get_sut_name_duration_ns|logger_.*|power_.*|early_stopping_latency_.*|"
      "result_.*(latency_ns|overhead|per_sec|per_second)");
  return std::regex_match(key, pattern) || (streams && (key == "result_query_count" || key == "early_stopping_result"));
}

std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

void expect_detail(const std::string& ours, const std::string& recorded, bool streams) {
  const auto a = entries_of(ours), b = entries_of(recorded);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string key = b[i]["key"];
    ASSERT_EQ(a[i]["key"], key);
    EXPECT_EQ(names_of(a[i]), names_of(b[i]));
    EXPECT_EQ(names_of(a[i]["metadata"]), names_of(b[i]["metadata"]));
    EXPECT_EQ(a[i]["value"].type_name(), std::string(b[i]["value"].type_name())) << key;
    if (!is_incidental(key, streams)) {
      EXPECT_EQ(a[i]["value"], b[i]["value"]) << key;
    }
  }
}

// Line by line; of what was measured the words alone.
void expect_summary(const std::string& ours, const std::string& recorded) {
  const auto a = split(ours, '\n'), b = split(recorded, '\n');
  ASSERT_EQ(a.size(), b.size()) << ours;
  static const std::regex measured("(.*(latency|estimate|econd).*|.*overhead.*| \\* (Processed|Would).*):? .*"), number("[0-9.e+]+");
  for (size_t i = 0; i < a.size(); ++i) {
    if (b[i].find("encountered") != std::string::npos) continue;
    const bool parameter = b[i].find("target_latency") != std::string::npos;
    if (parameter || !std::regex_match(b[i], measured)) {
      EXPECT_EQ(a[i], b[i]);
    } else {
      EXPECT_EQ(std::regex_replace(a[i], number, "N"), std::regex_replace(b[i], number, "N"));
    }
  }
}

TEST(LoadgenLogs, AsRecorded) {
  for (const std::string scenario : {"server", "singlestream", "multistream", "offline"}) {
    SCOPED_TRACE(scenario);
    const std::string folder = "tests/data/loadgen/logs/" + scenario + "/";
    LoadgenSettings settings = parse_run_json(read_text(folder + "settings.json"), "settings.json");
    settings.target_latency_ns = 15000000;  // not in those files
    const Files files = run(settings);
    expect_detail(files.detail, read_text(folder + "mlperf_log_detail.txt"), scenario.ends_with("stream"));
    expect_summary(files.summary, read_text(folder + "mlperf_log_summary.txt"));
    EXPECT_EQ(files.accuracy, "[\n]\n");
  }
}

// Reads a value that is not in the settings' file of a recorded run.
int64_t recorded_target_latency_ns(const std::string& detail) {
  for (const Json& entry : entries_of(detail)) {
    if (entry["key"] == "requested_server_target_latency_ns") return entry["value"];
  }
  return 0;
}

// Result keys that come and go with the verdict, which is that of another system here.
std::vector<std::string> keys_of(const std::string& detail) {
  std::vector<std::string> keys;
  for (const Json& entry : entries_of(detail)) {
    const std::string key = entry["key"];
    if (key != "generic_message" && key != "error_runtime" && key != "result_invalid_reason") keys.push_back(key);
  }
  return keys;
}

TEST(LoadgenLogs, KeysOfEveryRecordedRun) {
  const fs::path everything = "../shared/reference/loadgen";
  if (!fs::exists(everything)) GTEST_SKIP() << everything << " does not exist: only the runs in tests/data/loadgen/logs were compared";
  int runs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(everything)) {
    if (entry.path().filename() != "mlperf_log_detail.txt") continue;
    SCOPED_TRACE(entry.path().string());
    const std::string detail = read_text(entry.path().string());
    LoadgenSettings settings = parse_run_json(read_text((entry.path().parent_path() / "run.json").string()), "run.json");
    settings.target_latency_ns = recorded_target_latency_ns(detail);
    EXPECT_EQ(keys_of(run(settings).detail), keys_of(detail));
    ++runs;
  }
  EXPECT_GE(runs, 44);
}

LoadgenSettings small(LoadgenScenario scenario) {
  return {.scenario = scenario, .total_sample_count = 5, .min_duration_ms = 10, .min_query_count = 5, .target_qps = 1000};
}

TEST(LoadgenLogs, AnswersAreInTheAccuracyLog) {
  LoadgenSettings settings = small(LoadgenScenario::offline);
  settings.mode = LoadgenMode::accuracy;
  const Files files = run(settings);
  const Json answers = Json::parse(files.accuracy);
  ASSERT_EQ(answers.size(), 5U);
  EXPECT_EQ(answers[4]["seq_id"], 4);
  EXPECT_EQ(answers[0]["data"], "00AB");
  EXPECT_THAT(files.accuracy, testing::StartsWith("[\n{ \"seq_id\" : 0, \"qsl_idx\" : "));
  EXPECT_EQ(files.summary, "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n");
  EXPECT_EQ(files.trace, "");
}

TEST(LoadgenLogs, TheTraceIsJson) {
  const Files files = run(small(LoadgenScenario::server), true);
  const Json trace = Json::parse(files.trace);
  std::map<std::string, int> events;
  for (const auto& event : trace["traceEvents"]) ++events[event["name"].get<std::string>() + event.value("ph", "")];
  EXPECT_EQ(events["Sampleb"], events["Samplee"]);
  EXPECT_EQ(events["LatencyC"], events["Sampleb"]);
  EXPECT_GE(events["Sampleb"], 5);
  EXPECT_EQ(trace["traceEvents"][1]["args"]["complete_ns"], 700);
}

TEST(LoadgenLogs, LoadgenFiveKnowsNoAccuracySampleCount) {
  LoadgenSettings settings = small(LoadgenScenario::offline);
  settings.rules = LoadgenRules::v5;
  const Files files = run(settings);
  EXPECT_THAT(files.detail + files.summary, testing::Not(testing::HasSubstr("accuracy_sample_count")));
}

TEST(LoadgenLogs, AnInvalidRunSaysWhy) {
  LoadgenSettings settings = small(LoadgenScenario::single_stream);
  settings.expected_latency_ns = 10000000;
  const Files files = run(settings);
  EXPECT_THAT(files.summary, testing::HasSubstr("Result is : INVALID\n  Min duration satisfied : NO\n"));
  EXPECT_THAT(files.summary, testing::HasSubstr("Recommendations:\n * the run lasted"));
  EXPECT_THAT(files.summary, testing::EndsWith("1 ERROR encountered. See detailed log.\n"));
  std::set<std::string> keys;
  for (const Json& entry : entries_of(files.detail)) keys.insert(entry["key"].get<std::string>());
  EXPECT_TRUE(keys.contains("result_invalid_reason"));
  EXPECT_TRUE(keys.contains("error_runtime"));
}

TEST(LoadgenLogs, AFolderThatCannotBeWrittenIsNamed) {
  const auto clock = make_virtual_clock();
  try {
    LoadgenLogs logs("/proc/nowhere", {}, small(LoadgenScenario::server), *clock, 0, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot write /proc/nowhere/mlperf_log_summary.txt"));
  }
}

}  // namespace
}  // namespace deepgap
