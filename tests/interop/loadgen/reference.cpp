#include "reference.h"

#include "base/file.h"
#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <regex>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

class Library final : public mlperf::QuerySampleLibrary {
 public:
  Library(const LoadgenSettings& settings, ReferenceRun& run) : settings_(settings), run_(run) {}
  const std::string& Name() override { return name_; }
  size_t TotalSampleCount() override { return static_cast<size_t>(settings_.total_sample_count); }
  size_t PerformanceSampleCount() override { return static_cast<size_t>(effective_settings(settings_).performance_sample_count); }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    run_.loaded.emplace_back(samples.begin(), samples.end());
  }
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}

 private:
  const LoadgenSettings& settings_;
  ReferenceRun& run_;
  std::string name_ = "library";
};

class System final : public mlperf::SystemUnderTest {
 public:
  System(const ReferenceAnswer& answer, ReferenceRun& run) : answer_(answer), run_(run) {}
  const std::string& Name() override { return name_; }
  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    std::vector<uint32_t>& indices = run_.issued.emplace_back();
    for (const auto& sample : samples) indices.push_back(static_cast<uint32_t>(sample.index));
    answer_(samples);
  }
  void FlushQueries() override {}

 private:
  const ReferenceAnswer& answer_;
  ReferenceRun& run_;
  std::string name_ = "system";
};

void answer_at_once(const std::vector<mlperf::QuerySample>& samples) {
  for (const auto& sample : samples) {
    const auto value = static_cast<float>(sample.index % 1000);
    mlperf::QuerySampleResponse response{sample.id, reinterpret_cast<uintptr_t>(&value), sizeof(value)};
    mlperf::QuerySamplesComplete(&response, 1);
  }
}

void answer_with_tokens(const std::vector<mlperf::QuerySample>& samples) {
  for (const auto& sample : samples) {
    const std::array<int32_t, 2> tokens{static_cast<int32_t>(sample.index % 1000), 7};
    mlperf::QuerySampleResponse first{sample.id, reinterpret_cast<uintptr_t>(tokens.data()), sizeof(tokens[0])};
    mlperf::FirstTokenComplete(&first, 1);
    mlperf::QuerySampleResponse response(sample.id, reinterpret_cast<uintptr_t>(tokens.data()), sizeof(tokens), 2);
    mlperf::QuerySamplesComplete(&response, 1);
  }
}

}  // namespace

ReferenceAnswer instant_answer(const LoadgenSettings& settings) { return settings.token_latencies ? answer_with_tokens : answer_at_once; }

mlperf::TestSettings reference_settings(const LoadgenSettings& settings) {
  const std::map<LoadgenScenario, mlperf::TestScenario> scenarios{{LoadgenScenario::single_stream, mlperf::TestScenario::SingleStream},
                                                                  {LoadgenScenario::multi_stream, mlperf::TestScenario::MultiStream},
                                                                  {LoadgenScenario::server, mlperf::TestScenario::Server},
                                                                  {LoadgenScenario::offline, mlperf::TestScenario::Offline}};
  const std::map<LoadgenMode, mlperf::TestMode> modes{{LoadgenMode::performance, mlperf::TestMode::PerformanceOnly},
                                                      {LoadgenMode::accuracy, mlperf::TestMode::AccuracyOnly},
                                                      {LoadgenMode::submission, mlperf::TestMode::SubmissionRun}};
  mlperf::TestSettings reference;
  reference.scenario = scenarios.at(settings.scenario);
  reference.mode = modes.at(settings.mode);
  reference.single_stream_expected_latency_ns = reference.multi_stream_expected_latency_ns =
      static_cast<double>(settings.expected_latency_ns);
  reference.multi_stream_samples_per_query = static_cast<uint64_t>(settings.samples_per_query);
  reference.server_target_qps = reference.offline_expected_qps = settings.target_qps;
  reference.server_target_latency_ns = static_cast<uint64_t>(settings.target_latency_ns);
  reference.single_stream_target_latency_percentile = reference.multi_stream_target_latency_percentile =
      reference.server_target_latency_percentile = effective_settings(settings).target_latency_percentile;
  reference.server_coalesce_queries = settings.coalesce_queries;
  reference.server_max_async_queries = static_cast<uint64_t>(settings.max_async_queries);
  reference.min_duration_ms = static_cast<uint64_t>(settings.min_duration_ms);
  reference.max_duration_ms = static_cast<uint64_t>(settings.max_duration_ms);
  reference.min_query_count = static_cast<uint64_t>(settings.min_query_count);
  reference.max_query_count = static_cast<uint64_t>(settings.max_query_count);
  reference.qsl_rng_seed = settings.qsl_rng_seed;
  reference.sample_index_rng_seed = settings.sample_index_rng_seed;
  reference.schedule_rng_seed = settings.schedule_rng_seed;
  reference.accuracy_log_rng_seed = settings.accuracy_log_rng_seed;
  reference.accuracy_log_probability = settings.accuracy_log_probability;
  reference.accuracy_log_sampling_target = static_cast<uint64_t>(settings.accuracy_log_sampling_target);
  reference.performance_issue_unique = settings.issue_unique;
  reference.performance_issue_same = settings.issue_same;
  reference.performance_issue_same_index = static_cast<uint64_t>(settings.issue_same_index);
  reference.accuracy_sample_count_override = static_cast<uint64_t>(settings.accuracy_sample_count);
  reference.sample_concatenate_permutation = settings.equal_issue;
  reference.use_token_latencies = settings.token_latencies;
  reference.server_ttft_latency = static_cast<uint64_t>(settings.ttft_latency_ns);
  reference.server_tpot_latency = static_cast<uint64_t>(settings.tpot_latency_ns);
  reference.infer_token_latencies = settings.infers_tokens;
  reference.token_latency_scaling_factor = static_cast<uint64_t>(settings.token_latency_scaling_factor);
  return reference;
}

ReferenceRun run_reference(const LoadgenSettings& settings, const fs::path& logs, bool trace, const ReferenceAnswer& answer) {
  ReferenceRun run;
  Library library(settings, run);
  System system(answer, run);
  mlperf::LogSettings log;
  log.log_output.outdir = logs.string();
  log.enable_trace = trace;
  mlperf::StartTest(&system, &library, reference_settings(settings), log, "no-audit.config");
  return run;
}

std::vector<DetailEntry> read_detail(const fs::path& file) {
  constexpr std::string_view marker = ":::MLLOG ";
  static const std::regex no_number("\"value\": -?(nan|inf)");  // LoadGen writes these, which are no JSON
  std::vector<DetailEntry> entries;
  for (const std::string& line : split(trim(read_text(file.string())), '\n')) {
    EXPECT_TRUE(line.starts_with(marker)) << line;
    const auto json = nlohmann::json::parse(std::regex_replace(line.substr(marker.size()), no_number, "\"value\": null"));
    entries.push_back({json.at("key"), json.at("value")});
  }
  return entries;
}

}  // namespace deepgap
