#include "mlperf/loadgen/settings.h"

#include "mlperf/loadgen/run_json.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::usage || error.kind() == ErrorKind::input);
    return error.what();
  }
  return "no error";
}

std::string json_error(const std::string& text) {
  return error_of([&] { parse_run_json(text, "run.json"); });
}

std::string settings_error(const std::function<void(LoadgenSettings&)>& change) {
  LoadgenSettings settings{.scenario = LoadgenScenario::server, .total_sample_count = 100};
  change(settings);
  return error_of([&] { check_settings(settings); });
}

TEST(LoadgenSettings, RulesByVersion) {
  EXPECT_EQ(loadgen_rules("5.1.1"), LoadgenRules::v5);
  EXPECT_EQ(loadgen_rules("6.0.5"), LoadgenRules::v5);
  EXPECT_EQ(loadgen_rules("6.0.6"), LoadgenRules::v6);
  EXPECT_EQ(loadgen_rules("6.0.17"), LoadgenRules::v6);
  EXPECT_EQ(loadgen_rules("6.1"), LoadgenRules::v6);
  for (const char* version : {"", "4.1", "7.0", "six", "6.x", "-6"}) EXPECT_THROW(loadgen_rules(version), Error) << version;
}

TEST(LoadgenSettings, Rounds) {
  LoadgenSettings settings;
  apply_round("v5.1", settings);
  EXPECT_EQ(settings.rules, LoadgenRules::v5);
  EXPECT_EQ(settings.qsl_rng_seed, 1780908523862526354U);
  EXPECT_THAT(error_of([&] { apply_round("v6.2", settings); }), HasSubstr("invalid value 'v6.2' for mlperf: expected v5.0"));
}

TEST(LoadgenSettings, Effective) {
  LoadgenSettings offline{.scenario = LoadgenScenario::offline, .total_sample_count = 1024, .min_duration_ms = 10, .target_qps = 123456.7};
  EXPECT_EQ(effective_settings(offline).samples_per_query, 1358);  // 1.1 * 0.01 s * 123456.7
  EXPECT_EQ(effective_settings(offline).min_sample_count, 1358);
  EXPECT_EQ(effective_settings(offline).target_duration_ns, 0);
  LoadgenSettings equal{.total_sample_count = 1024, .min_duration_ms = 20, .min_query_count = 1500, .expected_latency_ns = 4000};
  equal.equal_issue = true;
  EXPECT_EQ(effective_settings(equal).min_query_count, 10240);  // 10000 that fit into twice the duration, filled up
  equal.min_query_count = 10240;
  EXPECT_EQ(effective_settings(equal).min_query_count, 11264);  // a whole number is filled up by a whole set, as LoadGen does
}

TEST(LoadgenSettings, OutOfRangeIsNamed) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double qps : {0.0, -1.0, nan, infinity, 2e9, 1e-9}) {
    EXPECT_THAT(settings_error([&](auto& settings) { settings.target_qps = qps; }), HasSubstr("target_qps is"));
  }
  EXPECT_THAT(settings_error([](auto& settings) { settings.total_sample_count = 0; }), HasSubstr("total_sample_count is 0"));
  EXPECT_THAT(settings_error([](auto& settings) { settings.min_query_count = 0; }), HasSubstr("min_query_count is 0"));
  EXPECT_THAT(settings_error([](auto& settings) { settings.min_duration_ms = -1; }), HasSubstr("min_duration_ms is -1"));
  EXPECT_THAT(settings_error([](auto& settings) { settings.expected_latency_ns = 0; }), HasSubstr("expected_latency_ns is 0"));
  EXPECT_THAT(settings_error([](auto& settings) { settings.samples_per_query = 0; }), HasSubstr("samples_per_query is 0"));
  EXPECT_THAT(settings_error([&](auto& settings) { settings.accuracy_log_probability = nan; }), HasSubstr("accuracy_log_probability"));
  EXPECT_THAT(settings_error([](auto& settings) { settings.total_sample_count = INT64_MAX; }), HasSubstr("total_sample_count"));
  EXPECT_EQ(settings_error([](auto&) {}), "no error");
}

TEST(LoadgenSettings, ConflictsAreErrors) {
  EXPECT_THAT(settings_error([](auto& settings) { settings.equal_issue = settings.issue_same = true; }), HasSubstr("exclude each other"));
  EXPECT_THAT(settings_error([](auto& settings) { settings.issue_unique = settings.issue_same = true; }), HasSubstr("exclude each other"));
  EXPECT_THAT(settings_error([](auto& settings) { settings.max_query_count = 99; }), HasSubstr("below min_query_count 100"));
  const auto same = [](LoadgenMode mode, int64_t index) {
    return settings_error([=](auto& settings) {
      settings.mode = mode;
      settings.performance_sample_count = 30;
      settings.issue_same = true;
      settings.issue_same_index = index;
    });
  };
  EXPECT_EQ(same(LoadgenMode::performance, 29), "no error");
  EXPECT_THAT(same(LoadgenMode::performance, 30), HasSubstr("from 0 to 29"));
  EXPECT_THAT(same(LoadgenMode::submission, 10), HasSubstr("from 0 to 9"));  // the last set of accuracy holds ten
  EXPECT_THAT(same(LoadgenMode::performance, -1), HasSubstr("issue_same_index is -1"));
}

TEST(RunJson, ValuesOfEveryKind) {
  const auto settings =
      parse_run_json(R"({"loadgen": "5.1.1", "scenario": "Offline", "mode": "acc", "total_sample_count": 7, "target_qps": 3,
                                           "qsl_rng_seed": 18446744073709551615, "issue_same": 1, "equal_issue": false, "rows_recorded": 9})",
                     "run.json");
  EXPECT_EQ(settings.rules, LoadgenRules::v5);
  EXPECT_EQ(settings.scenario, LoadgenScenario::offline);
  EXPECT_EQ(settings.mode, LoadgenMode::accuracy);
  EXPECT_EQ(settings.qsl_rng_seed, UINT64_MAX);
  EXPECT_EQ(settings.target_qps, 3);
  EXPECT_TRUE(settings.issue_same);
  EXPECT_EQ(settings.min_query_count, 100);
}

TEST(RunJson, WhatIsWrongIsNamed) {
  const std::string begin = R"({"scenario": "Server", "total_sample_count": 10, )";
  for (const char* text : {"", "[]", "{", "7", "\xff"}) EXPECT_THAT(json_error(text), HasSubstr("run.json: it is not a JSON object"));
  EXPECT_THAT(json_error(R"({"total_sample_count": 10})"), HasSubstr("'scenario' is missing"));
  EXPECT_THAT(json_error(R"({"scenario": "Server"})"), HasSubstr("'total_sample_count' is missing"));
  EXPECT_THAT(json_error(begin + R"("min_duration": 10})"), HasSubstr("unknown key 'min_duration'"));
  EXPECT_THAT(json_error(begin + R"("mode": "peak"})"), HasSubstr("must be one of acc, perf, submission"));
  EXPECT_THAT(json_error(begin + R"("min_query_count": 1.5})"), HasSubstr("'min_query_count' is 1.5; it must be a whole number"));
  EXPECT_THAT(json_error(begin + R"("min_query_count": 9999999999999999999})"), HasSubstr("whole number"));
  EXPECT_THAT(json_error(begin + R"("qsl_rng_seed": -1})"), HasSubstr("'qsl_rng_seed' is -1"));
  EXPECT_THAT(json_error(begin + R"("target_qps": "fast"})"), HasSubstr("'target_qps' is \"fast\"; it must be a number"));
  EXPECT_THAT(json_error(begin + R"("equal_issue": 2})"), HasSubstr("0, 1, false or true"));
  EXPECT_THAT(json_error(begin + R"("loadgen": "4.0"})"), HasSubstr("LoadGen '4.0' are not known"));
  EXPECT_THAT(json_error(begin + R"("mode": "a\nb"})"), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace deepgap
