// Configuration files as LoadGen reads them, and the round's rules that are built in beside the mlperf.conf that comes with LoadGen.
#include "reference.h"

#include "base/file.h"
#include "mlperf/loadgen/run_options.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

struct ScenarioNames {
  const char* ours;
  const char* theirs;
  LoadgenScenario scenario;
};
constexpr ScenarioNames scenarios[] = {{"single-stream", "SingleStream", LoadgenScenario::single_stream},
                                       {"multi-stream", "MultiStream", LoadgenScenario::multi_stream},
                                       {"server", "Server", LoadgenScenario::server},
                                       {"offline", "Offline", LoadgenScenario::offline}};

LoadgenSettings read_ours(const std::string& rules, const std::string& user, const std::string& model, const ScenarioNames& names) {
  LoadgenSettings settings;
  settings.scenario = names.scenario;
  settings.total_sample_count = 50000;
  for (const auto& [text, role] : {std::pair(rules, ConfRole::rules), std::pair(user, ConfRole::user)}) {
    for (const auto& [key, entry] : ConfFile::parse(text, "conf").entries_for(model, names.theirs))
      set_conf_key(settings, key, entry.value, role);
  }
  return settings;
}

mlperf::TestSettings read_theirs(const std::string& user_path, const std::string& model, const ScenarioNames& names) {
  mlperf::TestSettings settings;
  EXPECT_EQ(settings.FromConfig("", model, names.theirs, 0), 0);  // the mlperf.conf that is compiled in
  EXPECT_EQ(settings.FromConfig(user_path, model, names.theirs, 2), 0);
  return settings;
}

void expect_same(const mlperf::TestSettings& ours, const mlperf::TestSettings& theirs, LoadgenScenario scenario) {
  EXPECT_EQ(ours.use_token_latencies, theirs.use_token_latencies);
  EXPECT_EQ(ours.infer_token_latencies, theirs.infer_token_latencies);
  if (ours.infer_token_latencies) {
    EXPECT_EQ(ours.token_latency_scaling_factor, theirs.token_latency_scaling_factor);
  }
  if (ours.use_token_latencies && scenario == LoadgenScenario::server) {
    EXPECT_EQ(ours.server_ttft_latency, theirs.server_ttft_latency);
    EXPECT_EQ(ours.server_tpot_latency, theirs.server_tpot_latency);
  }
  switch (scenario) {
    case LoadgenScenario::single_stream:
      EXPECT_EQ(ours.single_stream_expected_latency_ns, theirs.single_stream_expected_latency_ns);
      EXPECT_EQ(ours.single_stream_target_latency_percentile, theirs.single_stream_target_latency_percentile);
      break;
    case LoadgenScenario::multi_stream:
      EXPECT_EQ(ours.multi_stream_expected_latency_ns, theirs.multi_stream_expected_latency_ns);
      EXPECT_EQ(ours.multi_stream_target_latency_percentile, theirs.multi_stream_target_latency_percentile);
      EXPECT_EQ(ours.multi_stream_samples_per_query, theirs.multi_stream_samples_per_query);
      break;
    case LoadgenScenario::server:
      EXPECT_EQ(ours.server_target_qps, theirs.server_target_qps);
      EXPECT_EQ(ours.server_target_latency_ns, theirs.server_target_latency_ns);
      EXPECT_EQ(ours.server_target_latency_percentile, theirs.server_target_latency_percentile);
      EXPECT_EQ(ours.server_max_async_queries, theirs.server_max_async_queries);
      EXPECT_EQ(ours.server_coalesce_queries, theirs.server_coalesce_queries);
      break;
    case LoadgenScenario::offline:
      EXPECT_EQ(ours.offline_expected_qps, theirs.offline_expected_qps);
      break;
  }
  EXPECT_EQ(ours.mode, theirs.mode);
  EXPECT_EQ(ours.min_duration_ms, theirs.min_duration_ms);
  EXPECT_EQ(ours.max_duration_ms, theirs.max_duration_ms);
  EXPECT_EQ(ours.min_query_count, theirs.min_query_count);
  EXPECT_EQ(ours.max_query_count, theirs.max_query_count);
  EXPECT_EQ(ours.qsl_rng_seed, theirs.qsl_rng_seed);
  EXPECT_EQ(ours.sample_index_rng_seed, theirs.sample_index_rng_seed);
  EXPECT_EQ(ours.schedule_rng_seed, theirs.schedule_rng_seed);
  EXPECT_EQ(ours.performance_issue_unique, theirs.performance_issue_unique);
  EXPECT_EQ(ours.performance_issue_same, theirs.performance_issue_same);
  EXPECT_EQ(ours.performance_issue_same_index, theirs.performance_issue_same_index);
  EXPECT_EQ(ours.sample_concatenate_permutation, theirs.sample_concatenate_permutation);
  EXPECT_EQ(ours.accuracy_log_rng_seed, theirs.accuracy_log_rng_seed);
  EXPECT_EQ(ours.accuracy_log_sampling_target, theirs.accuracy_log_sampling_target);
  EXPECT_EQ(ours.accuracy_sample_count_override, theirs.accuracy_sample_count_override);
}

std::string official_rules() { return read_text(DEEPGAP_LOADGEN_FOLDER "/mlperf.conf"); }

TEST(LoadgenInterop, ConfigurationFilesMeanTheSame) {
  const std::string user =
      "*.*.min_query_count = 11\n*.Server.min_query_count = 0x10\nresnet50.*.min_query_count = 13\nresnet50.Offline.min_query_count = 014\n"
      "*.Server.target_qps = 7.25\n*.Offline.target_qps = 3\n*.SingleStream.target_latency = 0.125\n*.MultiStream.samples_per_query = 5\n"
      "  resnet50.Server.max_async_queries   =   9\n*.Server.coalesce_queries = 1\nresnet50.*.mode = 2\n*.*.performance_issue_same = 1\n"
      "*.*.performance_issue_same_index = 3\n*.*.accuracy_log_rng_seed = 720381539243781796\n*.*.accuracy_log_sampling_target = 4096\n"
      "*.Server.target_latency_percentile = 97\n*.*.accuracy_sample_count_override = 500\n# end\n";
  TemporaryFolder folder;
  write_file_atomic(folder / "user.conf", user);
  for (const std::string model : {"resnet50", "retinanet", "bert", "3d-unet", "llama2-70b", "llama3_1-8b-interactive", "gptj", "another"}) {
    for (const ScenarioNames& names : scenarios) {
      SCOPED_TRACE(model + " " + names.theirs);
      const LoadgenSettings ours = read_ours(official_rules(), user, model, names);
      const mlperf::TestSettings theirs = read_theirs(folder / "user.conf", model, names);
      expect_same(reference_settings(ours), theirs, names.scenario);
      EXPECT_EQ(static_cast<uint64_t>(ours.performance_sample_count), theirs.performance_sample_count_override);
    }
  }
}

// This LoadGen's file is of round v6.1.
TEST(LoadgenInterop, TheRulesBuiltInAreTheFiles) {
  for (const std::string model :
       {"resnet50", "llama2-70b", "llama2-70b-interactive", "llama3_1-8b", "llama3_1-8b-interactive", "llama3_1-405b"})
    for (const ScenarioNames& names : scenarios) {
      SCOPED_TRACE(model + " " + names.theirs);
      const LoadgenSettings file = read_ours(official_rules(), "", model, names);
      const LoadgenSettings own = loadgen_run_settings({{"mlperf", "v6.1"}}, names.ours, model, 50000).settings;
      expect_same(reference_settings(own), reference_settings(file), names.scenario);
      EXPECT_EQ(own.performance_sample_count, file.performance_sample_count);
    }
}

}  // namespace
}  // namespace deepgap
