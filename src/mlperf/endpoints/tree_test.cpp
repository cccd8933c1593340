#include "mlperf/endpoints/tree.h"

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "mlperf/endpoints/bands.h"
#include "mlperf/endpoints/disclosure.h"
#include "record/token_series.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

constexpr Nanoseconds ms = 1'000'000;

// Requests of 10 tokens that each client sends one after the other; a token comes every millisecond.
Record record_of(int clients, int rounds = 20) {
  Record record;
  record.record_id = "r" + std::to_string(clients);
  record.verdict = Verdict::valid;
  record.point.task = Task::generate;
  record.point.model = "some/model.v1";
  record.point.scenario = "concurrency";
  record.point.options = {{"clients", std::to_string(clients)}};
  std::vector<TokenStream> streams;
  for (int i = 0; i < clients * rounds; ++i) {
    Nanoseconds now = i / clients * 10 * ms;
    TokenStream stream{streams.size(), now, 0, {.input = 4, .output = 10, .chunks = 10}, {}};
    for (int token = 0; token < 10; ++token) stream.deliveries.push_back({now += ms, 1, false});
    stream.end = now;
    record.timings.push_back({stream.query, stream.due, stream.due, stream.end, 1, Status::ok});
    streams.push_back(stream);
  }
  record.windows = {{"steady", 0, rounds * 10 * ms}};
  record.series = token_series(streams);
  return record;
}

class EndpointsTreeTest : public testing::Test {
 protected:
  void add(const std::vector<int>& clients) {
    for (const int each : clients) curve_.add(record_of(each));
  }
  std::vector<std::string> write() { return write_endpoints_tree(curve_, read_endpoints_disclosure(disclosure_), folder_ / "tree"); }
  std::string refused(ErrorKind kind = ErrorKind::input) {
    const std::string error = error_of([&] { write(); }, kind);
    EXPECT_FALSE(fs::exists(folder_ / "tree"));
    return error;
  }
  void disclose(const std::string& text) {
    disclosure_ = folder_ / "disclosure.json";
    write_file_atomic(disclosure_, text);
  }
  nlohmann::json file(const std::string& point, const std::string& name) {
    for (const auto& system : fs::directory_iterator(folder_ / "tree/results"))
      return nlohmann::json::parse(read_text(system.path().string() + "/model_v1/" + point + "/" + name));
    return {};
  }

  TemporaryFolder folder_;
  EndpointsCurve curve_;
  std::string disclosure_;
};

TEST(EndpointsBands, AreThoseOfTheReferenceImplementation) {
  const auto ends = [](int64_t least, int64_t most) {
    std::vector<int64_t> all;
    for (const EndpointsBand& band : endpoints_bands(least, most)) all.push_back(band.last);
    return all;
  };
  EXPECT_EQ(ends(1, 64), (std::vector<int64_t>{1, 5, 17, 64, 71}));
  EXPECT_EQ(ends(16, 1024), (std::vector<int64_t>{16, 26, 117, 1024, 1127}));
  EXPECT_EQ(ends(90, 256), (std::vector<int64_t>{32, 38, 69, 256, 282})) << "the lowest band ends at 32 at most";
  EXPECT_EQ(ends(1, 100), (std::vector<int64_t>{1, 6, 22, 100, 111}));
  EXPECT_EQ(band_of(endpoints_bands(32, 33), 33)->name, "low_concurrency") << "the bands behind it have no room";
  EXPECT_EQ(band_of(endpoints_bands(1, 64), 72), nullptr);
  EXPECT_THAT(error_of([] { endpoints_bands(1, 32); }), HasSubstr("32 is the highest: measure more clients"));
}

TEST_F(EndpointsTreeTest, AFolderForEachConcurrency) {
  add({1, 2, 4, 8, 16, 32, 64});
  const auto notes = write();
  const auto summary = file("r8", "result_summary.json");
  EXPECT_EQ(summary["n_samples_completed"], 160);
  EXPECT_EQ(summary["duration_ns"], 200 * ms);
  EXPECT_EQ(summary["output_sequence_lengths"]["total"], 1600);
  EXPECT_EQ(summary["ttft"]["percentiles"]["90"], ms);
  EXPECT_EQ(summary["tpot"]["percentiles"]["90"], ms);
  EXPECT_EQ(summary["latency"]["max"], 10 * ms);
  EXPECT_DOUBLE_EQ(summary["system_tps"], 8000);
  EXPECT_EQ(file("r8", "point.yaml")["region"], "med_concurrency");
  EXPECT_FALSE(file("r8", "point.yaml").contains("offline"));
  EXPECT_EQ(file("r64", "point.yaml")["offline"], "elected");
  EXPECT_EQ(file("r64", "system_desc.json")["max_supported_concurrency"], 64);
  EXPECT_THAT(file("r64", "config.yaml")["command"].get<std::string>(), HasSubstr("--clients 64"));
  EXPECT_THAT(notes,
              Contains(HasSubstr("point.model_precision, point.link_to_model, point.dataset_link, point.seed_set, point.target_cohort")));
  EXPECT_THAT(notes, Contains(HasSubstr("accuracy_results.json")));
}

TEST_F(EndpointsTreeTest, WhatACurveLacksIsNamed) {
  add({40, 64});
  const auto notes = write();
  EXPECT_THAT(notes, Contains("the curve has 2 points, and a submission needs 7"));
  EXPECT_THAT(notes, Contains("no point is at a concurrency up to 32"));
  EXPECT_THAT(notes, Contains("no point is in low_concurrency, concurrency 33 to 35"));
}

TEST_F(EndpointsTreeTest, ADisclosureIsMergedAndMeasuresNothing) {
  add({1, 64});
  disclose(R"({"system": {"max_supported_concurrency": 80, "division": "Standardized"}, "node": {"driver": "580"},
               "point": {"link_to_model": "https://example.com"}})");
  const auto notes = write();
  EXPECT_EQ(file("r1", "system_desc.json")["node_types"][0]["driver"], "580");
  EXPECT_EQ(file("r1", "point.yaml")["link_to_model"], "https://example.com");
  EXPECT_EQ(file("r1", "point.yaml")["division"], "Standardized");
  EXPECT_THAT(notes, Contains(HasSubstr("needs the part 'power'")));
  EXPECT_THAT(notes, Contains("no point is at concurrency 80, so there is no Offline result"));
  fs::remove_all(folder_ / "tree");
  disclose(R"({"point": {"concurrency": 3}})");
  EXPECT_THAT(refused(), HasSubstr("'point.concurrency' is made from the records: leave it out"));
  disclose(R"({"pont": {}})");
  EXPECT_THAT(refused(), HasSubstr("did you mean 'point'"));
  disclose(R"({"point": {"model_name": "../x"}})");
  EXPECT_THAT(refused(), HasSubstr("'point.model_name' is not a name that a folder can have"));
  disclose(R"({"system": {"division": null}})");
  EXPECT_THAT(refused(), HasSubstr("'system.division' is null"));
  disclose("[");
  EXPECT_THAT(refused(), HasSubstr("is not a JSON object"));
}

TEST_F(EndpointsTreeTest, TheHardwareOfAServerIsNotThatOfTheClient) {
  for (const int clients : {1, 64}) {
    Record record = record_of(clients);
    record.point.placement.devices = {{"gpu-host:8000", "http", 0}};
    record.environment = {{"cpu.model", std::string("the client's")}, {"cpu.cores", int64_t{2}}};
    curve_.add(record);
  }
  EXPECT_THAT(write(), Contains(HasSubstr("system.system_size, system.system_node_ensemble_count, system.system_node_ensemble_total, "
                                          "node.number_of_nodes, node.host_processor_core_count")));
  const auto system = file("r1", "system_desc.json");
  EXPECT_EQ(system["system_name"], "http://gpu-host:8000");
  EXPECT_EQ(system.dump().find("the client's"), std::string::npos);
}

TEST_F(EndpointsTreeTest, PointsOutsideTheBandsAreRefused) {
  add({1, 64, 100});
  disclose(R"({"system": {"max_supported_concurrency": 64}})");
  EXPECT_THAT(refused(), HasSubstr("concurrency 100 is above the bands, which end at 71"));
  disclosure_.clear();
  curve_ = {};
  add({1, 16});
  EXPECT_THAT(refused(ErrorKind::usage), HasSubstr("16 is the highest"));
}

TEST_F(EndpointsTreeTest, RecordsThatAreNoPointAreRefused) {
  Record record = record_of(8);
  const auto with = [&](const std::function<void(Record&)>& change) {
    Record changed = record;
    change(changed);
    curve_ = {};
    add({1, 64});
    curve_.add(changed);
    return refused();
  };
  EXPECT_THAT(with([](Record& r) { r.windows.clear(); }), HasSubstr("concurrency 8 has no usable record: it has no steady window"));
  EXPECT_THAT(with([](Record& r) { r.timings.clear(); }), HasSubstr("a compact copy leaves them out"));
  EXPECT_THAT(with([](Record& r) { r.series.clear(); }), HasSubstr("it has no tokens"));
  EXPECT_THAT(with([](Record& r) { r.timings.resize(5); }),
              HasSubstr("its requests in flight reach 5 at most: measure longer, or with --streams 8"));
  EXPECT_THAT(with([](Record& r) { r.verdict = Verdict::invalid, r.reason = "slow"; }), HasSubstr("record: invalid: slow"));
  EXPECT_THAT(with([](Record& r) { r.outcome = Outcome::crashed, r.reason = "signal"; }), HasSubstr("record: crashed: signal"));
  EXPECT_THAT(with([](Record& r) { r.point.options["think_time"] = "1s"; }), HasSubstr("differs in the number of clients alone"));
  EXPECT_THAT(with([](Record& r) { r.point.model = "other"; }), HasSubstr("of 2, "));
}

TEST_F(EndpointsTreeTest, AUsableRecordIsPreferred) {
  add({1, 64});
  Record bad = record_of(1, 30);
  bad.verdict = Verdict::invalid;
  curve_.add(bad);
  curve_.add(record_of(64, 30));
  write();
  EXPECT_EQ(file("r1", "result_summary.json")["n_samples_completed"], 20);
  EXPECT_EQ(file("r64", "result_summary.json")["n_samples_completed"], 64 * 30) << "the last one of them";
}

}  // namespace
}  // namespace deepgap
