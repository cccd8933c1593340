// MLPerf's LoadGen, driven as its users do, its figures read from its own summary.
#include "sides.h"

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/text.h"

#include <fmt/format.h>
#include <loadgen.h>
#include <query_sample_library.h>
#include <system_under_test.h>
#include <test_settings.h>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace deepgap {
namespace {

using SteadyClock = std::chrono::steady_clock;

double ns_between(SteadyClock::time_point begin, SteadyClock::time_point end) {
  return static_cast<double>(std::chrono::nanoseconds(end - begin).count());
}

class Library final : public mlperf::QuerySampleLibrary {
 public:
  const std::string& Name() override { return name_; }
  size_t TotalSampleCount() override { return 1024; }
  size_t PerformanceSampleCount() override { return 1024; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}

 private:
  std::string name_ = "library";
};

// Answers inside IssueQuery(), all samples in one call, which is the quickest way for LoadGen.
class InstantSystem final : public mlperf::SystemUnderTest {
 public:
  const std::string& Name() override { return name_; }
  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    last_issue = SteadyClock::now();
    if (issued++ == 0) first_issue = last_issue;
    answers_.resize(samples.size());
    for (size_t i = 0; i < samples.size(); ++i) answers_[i] = {samples[i].id, 0, 0};
    mlperf::QuerySamplesComplete(answers_.data(), answers_.size());
  }
  void FlushQueries() override {}

  int64_t issued = 0;
  SteadyClock::time_point first_issue, last_issue;

 private:
  std::string name_ = "instant";
  std::vector<mlperf::QuerySampleResponse> answers_;
};

// Runs a test and gives its summary.
std::string run(InstantSystem& system, const mlperf::TestSettings& settings) {
  const TemporaryFolder folder;
  Library library;
  mlperf::LogSettings log;
  log.log_output.outdir = folder.path();
  log.log_output.copy_summary_to_stdout = false;
  log.enable_trace = false;
  mlperf::StartTest(&system, &library, settings, log);
  return read_text(folder / "mlperf_log_summary.txt");
}

// The number behind "NAME :" of a line.
double figure(const std::string& summary, const std::string& name) {
  for (const std::string& line : split(summary, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || trim(line.substr(0, colon)) != name) continue;
    if (const auto value = parse_double(trim(line.substr(colon + 1)))) return *value;
  }
  throw std::runtime_error(fmt::format("LoadGen's summary has no '{}':\n{}", name, summary));
}

}  // namespace

ServerFigures loadgen_server(double rate, double seconds) {
  mlperf::TestSettings settings;
  settings.scenario = mlperf::TestScenario::Server;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.server_target_qps = rate;
  settings.server_target_latency_ns = 1'000'000'000;
  settings.min_duration_ms = static_cast<uint64_t>(seconds * 1e3);
  settings.min_query_count = 1;
  InstantSystem system;
  const std::string summary = run(system, settings);
  const double answered = figure(summary, "Completed samples per second");
  return {answered,
          answered >= 0.99 * rate ? 1.0 : 0.0,
          figure(summary, "50.00 percentile latency (ns)") / 1e3,
          figure(summary, "99.00 percentile latency (ns)") / 1e3,
          -1,
          -1};
}

OfflineFigures loadgen_offline(int64_t samples) {
  mlperf::TestSettings settings;
  settings.scenario = mlperf::TestScenario::Offline;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.offline_expected_qps = 1;
  settings.min_duration_ms = 0;
  settings.min_query_count = static_cast<uint64_t>(samples);
  InstantSystem system;
  const auto begin = SteadyClock::now();
  const std::string summary = run(system, settings);
  const double all = ns_between(begin, SteadyClock::now());
  const double score = 1e9 / figure(summary, "Samples per second");
  return {score, all / static_cast<double>(samples) - score};
}

double loadgen_single_stream_ns(int64_t queries) {
  mlperf::TestSettings settings;
  settings.scenario = mlperf::TestScenario::SingleStream;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.single_stream_expected_latency_ns = 1000;
  settings.min_duration_ms = 1;
  settings.min_query_count = static_cast<uint64_t>(queries);
  InstantSystem system;
  run(system, settings);
  return ns_between(system.first_issue, system.last_issue) / static_cast<double>(system.issued - 1);
}

}  // namespace deepgap
