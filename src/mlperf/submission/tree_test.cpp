#include "mlperf/submission/tree.h"

#include "base/file.h"
#include "base/sha256.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "mlperf/submission/audit.h"
#include "mlperf/submission/system.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class MlperfTreeTest : public testing::Test {
 protected:
  // A run with logs in a folder of its own.
  Record run(const std::string& scenario, const std::string& round, const std::string& mode = "performance",
             const std::string& test = "none", double score = 100) {
    Record record;
    record.record_id = fmt::format("record{}", ++runs_);
    record.point.model = "resnet50";
    record.point.scenario = scenario;
    record.point.options = {{"mlperf", round}, {"mlperf_mode", mode}, {"mlperf_test", test}, {"rate", "50"}, {"mlperf_scale", "1"}};
    record.verdict = Verdict::valid;
    record.environment = {
        {"cpu.model", std::string("A CPU @ 2 GHz")}, {"cpu.cores", int64_t{2}}, {"deepgap.version", std::string("0.1.0")}};
    const std::string logs = folder_ / fmt::format("logs{}", runs_);
    record.facts["mlperf.log"] = logs;
    record.facts["mlperf.by_the_rules"] = std::string("nothing is known against it");
    const char* key = scenario == "offline" ? "result_samples_per_second" : "result_completed_samples_per_sec";
    make_directories(logs);
    write_file_atomic(logs + "/mlperf_log_summary.txt", "summary\n");
    const std::string detail = fmt::format(":::MLLOG {{\"key\": \"{}\", \"value\": {}}}\n", key, score);
    write_file_atomic(logs + "/mlperf_log_detail.txt", detail);
    record.facts["mlperf.log_sha256"] = sha256(detail);
    write_file_atomic(logs + "/mlperf_log_accuracy.json", answers_);
    return record;
  }
  MlperfRuns whole(const std::string& round, const std::vector<std::string>& scenarios) {
    MlperfRuns runs;
    for (const std::string& scenario : scenarios) {
      runs.add(run(scenario, round));
      runs.add(run(scenario, round, "accuracy"));
      runs.add(run(scenario, round, "performance", "TEST01", 95));
      runs.add(run(scenario, round, "performance", "TEST04", 150));
    }
    return runs;
  }
  std::string tree() const { return folder_ / "tree"; }
  std::string text(const std::string& path) const { return read_text(tree() + "/open/us/" + path); }

  TemporaryFolder folder_;
  std::string answers_ = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 7, \"data\" : \"00\" }\n]\n";
  int runs_ = 0;
};

TEST_F(MlperfTreeTest, OfARoundWithTheOldLayout) {
  const auto notes = write_mlperf_tree(whole("v5.0", {"server", "offline"}), {tree(), "us"});
  EXPECT_TRUE(notes.empty()) << notes[0];
  const std::string system = "A_CPU___2_GHz-native-fp32";
  for (const char* scenario : {"Server", "Offline"}) {
    const std::string results = fmt::format("results/{}/resnet50/{}/", system, scenario);
    EXPECT_EQ(text(results + "performance/run_1/mlperf_log_summary.txt"), "summary\n");
    EXPECT_THAT(text(results + "accuracy/accuracy.txt"), HasSubstr("synthetic"));
    EXPECT_THAT(text(results + "accuracy/accuracy.txt"), HasSubstr("hash=" + sha256(answers_) + "\n"));
    EXPECT_THAT(text(results + "accuracy/accuracy.txt"), Not(HasSubstr("accuracy=")));
    const std::string measurements = fmt::format("measurements/{}/resnet50/{}/", system, scenario);
    EXPECT_THAT(text(measurements + "user.conf"), HasSubstr(fmt::format("resnet50.{}.target_qps = 50\n", scenario)));
    EXPECT_THAT(text(measurements + "user.conf"), Not(HasSubstr("scale")));
    EXPECT_THAT(text(measurements + "README.md"), HasSubstr("--model resnet50"));
    EXPECT_EQ(nlohmann::json::parse(text(fmt::format("{}{}_deepgap_{}.json", measurements, system, scenario)))["weight_data_types"],
              "fp32");
    const std::string audit = fmt::format("compliance/{}/resnet50/{}/", system, scenario);
    EXPECT_THAT(text(audit + "TEST01/verify_accuracy.txt"), HasSubstr("TEST PASS"));
    EXPECT_THAT(text(audit + "TEST01/verify_performance.txt"), HasSubstr("TEST PASS"));
    EXPECT_THAT(text(audit + "TEST04/verify_performance.txt"), HasSubstr("TEST FAIL"));  // half as fast again: answers were cached
    EXPECT_TRUE(fs::exists(tree() + "/open/us/" + audit + "TEST01/accuracy/mlperf_log_accuracy.json"));
  }
  const auto json = nlohmann::json::parse(text("systems/" + system + ".json"));
  EXPECT_EQ(json["division"], "open");
  EXPECT_EQ(json["submitter"], "us");
  EXPECT_EQ(json["system_type"], "datacenter");
  EXPECT_EQ(json["host_processor_core_count"], "2");
  EXPECT_TRUE(fs::exists(tree() + "/open/us/code/resnet50/README.md"));
}

TEST_F(MlperfTreeTest, OfALaterRound) {
  MlperfRuns runs = whole("v6.0", {"single-stream", "multi-stream", "offline"});
  const auto notes = write_mlperf_tree(runs, {tree(), "us"});
  const std::string folder = "results/A_CPU___2_GHz-native-fp32/resnet50/MultiStream/";
  for (const char* file : {"measurements.json", "user.conf", "README.md", "accuracy/accuracy.txt", "TEST04/verify_performance.txt"})
    EXPECT_FALSE(text(folder + file).empty()) << file;
  EXPECT_EQ(nlohmann::json::parse(text("systems/A_CPU___2_GHz-native-fp32.json"))["system_type"], "edge");
}

TEST_F(MlperfTreeTest, LabelsGiveAnAccuracy) {
  MlperfRuns runs = whole("v5.0", {"server", "offline"});
  Record labelled = run("server", "v5.0", "accuracy");
  labelled.facts["mlperf.accuracy"] = 0.76125;
  runs.add(labelled);
  write_mlperf_tree(runs, {tree(), "us"});
  EXPECT_THAT(text("results/A_CPU___2_GHz-native-fp32/resnet50/Server/accuracy/accuracy.txt"), HasSubstr("accuracy=76.125%\nhash="));
}

TEST_F(MlperfTreeTest, ALongAccuracyLogIsShortened) {
  answers_ = "[" + std::string(50000, ' ') + "]";
  MlperfRuns runs;
  for (const char* scenario : {"server", "offline"}) {
    runs.add(run(scenario, "v5.0"));
    runs.add(run(scenario, "v5.0", "accuracy"));
  }
  const auto notes = write_mlperf_tree(runs, {tree(), "us"});
  EXPECT_LE(text("results/A_CPU___2_GHz-native-fp32/resnet50/Server/accuracy/mlperf_log_accuracy.json").size(), 10240U);
  EXPECT_THAT(notes, testing::Contains(HasSubstr("there is no TEST01")));
}

TEST_F(MlperfTreeTest, WhatIsMissingIsNamed) {
  MlperfRuns runs;
  runs.add(run("offline", "v6.0"));
  try {
    write_mlperf_tree(runs, {tree(), "us"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("SingleStream performance, SingleStream accuracy, MultiStream performance, MultiStream accuracy, "
                                        "Offline accuracy"));
  }
  EXPECT_FALSE(fs::exists(tree()));
  runs.add(run("offline", "v5.0", "accuracy"));
  EXPECT_THROW(write_mlperf_tree(runs, {tree(), "us"}), Error);
}

TEST_F(MlperfTreeTest, LogsOfAnotherRunAreRefused) {
  MlperfRuns runs = whole("v5.0", {"server", "offline"});
  const std::string detail = mlperf_fact(*runs.find("Server", MlperfKind::accuracy), "mlperf.log") + "/mlperf_log_detail.txt";
  write_file_atomic(detail, read_text(detail) + "\n");
  EXPECT_THAT(error_of(
                  [&] {
                    write_mlperf_tree(runs, {tree(), "us"});
                  },
                  ErrorKind::input),
              HasSubstr(detail + " is not the log that the Server accuracy run wrote"));
  EXPECT_FALSE(fs::exists(tree()));
}

TEST_F(MlperfTreeTest, ATreeIsOfOneSystem) {
  MlperfRuns runs = whole("v5.0", {"server", "offline"});
  Record other = run("server", "v5.0");
  other.point.precision = Precision::int8;
  runs.add(other);
  EXPECT_THAT(error_of(
                  [&] {
                    write_mlperf_tree(runs, {tree(), "us"});
                  },
                  ErrorKind::input),
              AllOf(HasSubstr("2 systems"), HasSubstr("int8"), HasSubstr("fp32")));
}

TEST_F(MlperfTreeTest, AValidRunIsPreferred) {
  MlperfRuns runs;
  Record good = run("server", "v5.0"), bad = run("server", "v5.0");
  bad.verdict = Verdict::invalid;
  runs.add(good);
  runs.add(bad);
  EXPECT_EQ(runs.find("Server", MlperfKind::performance)->record_id, good.record_id);
  Record other = run("server", "v5.0");
  other.facts.erase("mlperf.log");
  runs.add(other);
  EXPECT_EQ(runs.find("Server", MlperfKind::performance)->record_id, good.record_id);
}

TEST(MlperfAudit, Scores) {
  const MlperfScore server{1000, false}, stream{1e6, true}, brief{100000, true};
  EXPECT_THAT(verify_test01_speed(server, {905, false}), HasSubstr("TEST PASS"));
  EXPECT_THAT(verify_test01_speed(server, {890, false}), HasSubstr("TEST FAIL"));
  EXPECT_THAT(verify_test01_speed(brief, {119000, true}), HasSubstr("TEST PASS"));
  EXPECT_THAT(verify_test04_speed(server, {500, false}), HasSubstr("TEST PASS"));  // slower is no cache
  EXPECT_THAT(verify_test04_speed(stream, {0.8e6, true}), HasSubstr("TEST FAIL"));
  EXPECT_THROW(read_mlperf_score(":::MLLOG {\"key\": \"x\", \"value\": 1}\n", "here"), Error);
}

TEST(MlperfAudit, Answers) {
  const std::string all = R"([{"seq_id":0,"qsl_idx":1,"data":"AA"},{"seq_id":1,"qsl_idx":2,"data":"BB"}])";
  EXPECT_THAT(verify_test01_answers(all, R"([{"seq_id":9,"qsl_idx":2,"data":"BB"}])"), HasSubstr("1 answers"));
  EXPECT_THAT(verify_test01_answers(all, R"([{"seq_id":9,"qsl_idx":2,"data":"BB"}])"), HasSubstr("TEST PASS"));
  EXPECT_THAT(verify_test01_answers(all, R"([{"seq_id":9,"qsl_idx":2,"data":"AA"}])"), HasSubstr("TEST FAIL"));
  EXPECT_THAT(verify_test01_answers(all, R"([{"seq_id":9,"qsl_idx":3,"data":"AA"}])"), HasSubstr("TEST FAIL"));
  EXPECT_THAT(verify_test01_answers(all, "[]"), HasSubstr("TEST FAIL"));
}

}  // namespace
}  // namespace deepgap
