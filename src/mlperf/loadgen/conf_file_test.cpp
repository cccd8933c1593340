#include "mlperf/loadgen/conf_file.h"
#include "base/test_error.h"
#include "mlperf/loadgen/run_options.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  const auto read = [&] { options_of_conf(ConfFile::parse(text, "user.conf"), ConfRole::user, "resnet50", "server"); };
  return deepgap::error_of(read, ErrorKind::input);
}

TEST(ConfFile, TheNearestEntryHolds) {
  const ConfFile file = ConfFile::parse(
      "# rates\n\n*.*.min_query_count = 1\n  resnet50.*.min_query_count = 2\n*.Server.min_query_count = 3\n"
      "resnet50.Server.min_query_count = 4\nwan-2.2.Offline.target_qps = 7.5\n",
      "user.conf");
  const auto value = [&](const char* model, const char* scenario) { return file.entries_for(model, scenario).at("min_query_count").value; };
  EXPECT_EQ(value("resnet50", "Server"), "4");
  EXPECT_EQ(value("bert", "Server"), "3");
  EXPECT_EQ(value("resnet50", "Offline"), "2");
  EXPECT_EQ(value("bert", "Offline"), "1");
  EXPECT_EQ(file.entries_for("wan-2.2", "Offline").at("target_qps").line, 7);
}

TEST(AuditConfig, NamedTestsAndOthers) {
  using Options = std::map<std::string, std::string>;
  const auto options = [](const char* text) { return options_of_audit(ConfFile::parse(text, "audit.config"), "single-stream"); };
  EXPECT_EQ(options("*.*.mode = 2\n*.*.accuracy_log_rng_seed = 720381539243781796\n*.*.accuracy_log_sampling_target = 4096\n"),
            (Options{{"mlperf_mode", "performance"}, {"mlperf_test", "TEST01"}}));
  EXPECT_EQ(options("*.*.performance_issue_unique = 0\n*.*.performance_issue_same = 1\n*.*.performance_issue_same_index = 3\n"),
            (Options{{"mlperf_test", "TEST04"}}));
  EXPECT_EQ(options("*.*.accuracy_log_rng_seed = 7\n*.*.accuracy_log_sampling_target = 512\n*.Server.min_query_count = 9\n"),
            (Options{{"mlperf_accuracy_log_rng_seed", "7"}, {"mlperf_accuracy_log_sampling_target", "512"}}));
}

TEST(AuditConfig, AnEntryForOneModelIsAnError) {
  try {
    options_of_audit(ConfFile::parse("*.*.mode = 2\nresnet50.*.min_query_count = 5\n", "audit.config"), "server");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "audit.config:2: LoadGen reads an audit's settings for any model: write '*' for 'resnet50'");
  }
}

TEST(ConfFile, WhatLoadgenDropsIsAnError) {
  EXPECT_THAT(error_of("resnet50.Server.target_qps=100\n"), HasSubstr("user.conf:1: expected 'model.Scenario.key = value'"));
  EXPECT_THAT(error_of("\nresnet50.Server.target_qps 100\n"), HasSubstr("user.conf:2: expected"));
  EXPECT_THAT(error_of("resnet50.Server.target_qps = 100 # fast\n"), HasSubstr("a comment needs a line of its own"));
  EXPECT_THAT(error_of("resnet50.Server.target_qps = 100 200\n"), HasSubstr("'200' follows the value"));
  EXPECT_THAT(error_of("resnet50.Server.target_qps = fast\n"), HasSubstr("'fast' is not a number"));
  EXPECT_THAT(error_of("resnet50.Server.target_qp = 1\n"), HasSubstr("did you mean 'target_qps'?"));
  EXPECT_THAT(error_of("resnet50.Servr.target_qps = 1\n"), HasSubstr("did you mean 'Server'?"));
  EXPECT_THAT(error_of("target_qps = 1\n"), HasSubstr("is not model.Scenario.key"));
  EXPECT_THAT(error_of("*.*.target_qps = 1\n*.*.target_qps = 2\n"), HasSubstr("user.conf:2: '*.*.target_qps' is set already in line 1"));
}

TEST(ConfFile, ValuesOutOfRangeAreErrors) {
  EXPECT_THAT(error_of("*.*.qsl_rng_seed = 5\n"), AllOf(HasSubstr("user.conf:1: qsl_rng_seed"), HasSubstr("only the round's rules")));
  EXPECT_THAT(error_of("*.Server.target_latency = 15.5\n"), HasSubstr("'15.5' is not a whole number"));
  EXPECT_THAT(error_of("*.Server.min_duration = -1\n"), HasSubstr("'-1' is not a whole number"));
  EXPECT_THAT(error_of("*.Server.coalesce_queries = 2\n"), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(error_of("*.*.mode = 3\n"), HasSubstr("--find-peak"));
  EXPECT_THAT(error_of("*.*.mode = 9\n"), HasSubstr("is not a mode"));
  EXPECT_THAT(error_of("*.*.use_token_latencies = 2\n"), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(error_of("*.Server.ttft_latency = 0.5\n"), HasSubstr("not a whole number"));
  EXPECT_THAT(error_of("*.Server.target_latency_percentile = 100\n"), HasSubstr("not between 0 and 100"));
  EXPECT_THAT(error_of("*.*.min_query_count = 99999999999999999999\n"), HasSubstr("not a whole number"));
  EXPECT_EQ(error_of("other.*.print_timestamps = 1\n"), "no error");  // not for this model
}

TEST(ConfFile, IntegersAreReadAsLoadgenDoes) {
  EXPECT_EQ(parse_conf_integer("0x10"), 16U);
  EXPECT_EQ(parse_conf_integer("010"), 8U);
  EXPECT_EQ(parse_conf_integer("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_conf_integer("-1"), std::nullopt);
  EXPECT_EQ(parse_conf_integer("1.0"), std::nullopt);
}

TEST(RunOptions, ARoundsRules) {
  const auto run = loadgen_run_settings({{"mlperf", "v6.0"}, {"mlperf_target_qps", "100"}, {"streams", "2"}}, "server", "resnet50", 50000);
  EXPECT_EQ(run.round.version, "6.0.17");
  EXPECT_EQ(run.settings.qsl_rng_seed, 2465351861681999779U);
  EXPECT_EQ(run.settings.performance_sample_count, 1024);
  EXPECT_EQ(run.settings.target_latency_ns, 15000000);
  EXPECT_EQ(run.settings.min_duration_ms, 600000);
  EXPECT_EQ(run.settings.target_qps, 100);
  EXPECT_TRUE(run.deviations.empty()) << run.deviations[0];
  const auto offline = loadgen_run_settings({{"mlperf", "v5.0"}}, "offline", "resnet50", 50000);
  EXPECT_EQ(offline.settings.min_query_count, 24576);
  EXPECT_EQ(offline.settings.rules, LoadgenRules::v5);
  const auto streams = loadgen_run_settings({{"mlperf", "v6.0"}}, "multi-stream", "resnet50", 50000);
  EXPECT_EQ(streams.settings.expected_latency_ns, 80000000);
  EXPECT_EQ(streams.settings.min_query_count, 662);
}

TEST(RunOptions, BenchmarksOfEarlierRounds) {
  EXPECT_EQ(loadgen_library_size({{"mlperf", "v6.0"}}, "ssd_resnet34"), 5000);
  EXPECT_EQ(loadgen_library_size({{"mlperf", "v6.0"}}, "resnet18"), 1024);
  const auto detector = loadgen_run_settings({{"mlperf", "v6.0"}}, "offline", "ssd_resnet34", 5000);
  EXPECT_EQ(detector.settings.performance_sample_count, 64);
  const auto answers = loadgen_run_settings({{"mlperf", "v6.0"}, {"rate", "1"}}, "server", "bert_large", 10833);
  EXPECT_EQ(answers.settings.target_latency_ns, 130000000);
}

TEST(RunOptions, AShortRunSaysWhatIsMissing) {
  const auto run = loadgen_run_settings({{"mlperf", "v6.0"}, {"mlperf_scale", "1%"}}, "single-stream", "resnet50", 1000);
  EXPECT_EQ(run.settings.min_duration_ms, 6000);
  EXPECT_EQ(run.settings.performance_sample_count, 10);
  EXPECT_THAT(run.deviations, testing::Contains(HasSubstr("min_duration is 6000, v6.0 asks for at least 600000")));
  EXPECT_THAT(run.deviations, testing::Contains(HasSubstr("the number of samples is 10, v6.0 asks for 50000")));
}

TEST(RunOptions, Tests) {
  const auto test01 = loadgen_run_settings({{"mlperf", "v6.0"}, {"mlperf_test", "TEST01"}}, "offline", "resnet50", 50000);
  EXPECT_EQ(test01.settings.accuracy_log_sampling_target, 4096);
  const auto test04 = loadgen_run_settings({{"mlperf", "v6.0"}, {"mlperf_test", "TEST04"}}, "offline", "resnet50", 50000);
  EXPECT_TRUE(test04.settings.issue_same);
  EXPECT_EQ(test04.settings.issue_same_index, 3);
}

TEST(RunOptions, WhatIsWrongIsSaid) {
  const auto error = [](const std::map<std::string, std::string>& options, const std::string& scenario) -> std::string {
    try {
      loadgen_run_settings(options, scenario, "resnet50", 100);
    } catch (const Error& caught) {
      EXPECT_EQ(caught.kind(), ErrorKind::usage);
      return caught.what();
    }
    return "no error";
  };
  EXPECT_THAT(error({{"mlperf", "v6"}}, "server"), HasSubstr("v6.0"));
  EXPECT_THAT(error({{"mlperf", "v6.0"}}, "batch"), HasSubstr("single-stream, multi-stream, server or offline"));
  EXPECT_THAT(error({{"mlperf", "v6.0"}, {"mlperf_mode", "fast"}}, "server"), HasSubstr("invalid value 'fast' for mlperf_mode: expected"));
  EXPECT_THAT(error({{"mlperf", "v6.0"}, {"mlperf_target_qps", "0"}}, "server"), HasSubstr("target_qps"));
  EXPECT_THAT(error({{"mlperf", "v6.0"}, {"rate", "5"}}, "single-stream"), HasSubstr("leave rate out"));
  EXPECT_THAT(error({{"mlperf", "v6.0"}, {"rate", "5"}, {"mlperf_target_qps", "5"}}, "server"), HasSubstr("leave one of them"));
  EXPECT_THAT(error({{"mlperf", "v6.0"}, {"mlperf_samples", "200"}}, "server"), HasSubstr("the dataset has 100"));
  EXPECT_THAT(error({{"mlperf", "v6.0"}, {"mlperf_scale", "2"}}, "server"), HasSubstr("mlperf_scale"));
  EXPECT_THAT(error({{"mlperf", "v6.0"}, {"mlperf_test", "TEST01"}, {"mlperf_mode", "accuracy"}}, "server"), HasSubstr("mlperf_test"));
}

}  // namespace
}  // namespace deepgap
