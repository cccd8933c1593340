// Our logs beside LoadGen's own of the same run: the same keys in the same order, the same values where they do not depend on time, and the
// same accuracy log, byte for byte. Both systems answer at once.
#include "draw_settings.h"
#include "reference.h"

#include "base/clocks.h"
#include "base/file.h"
#include "base/text.h"
#include "mlperf/loadgen/logs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace deepgap {
namespace {

// Answers inside submit() with a tensor of `index % 1000`, a row a sample; or, a sample at a time, with the tokens `index % 1000` and 7.
class InstantTarget final : public Target {
 public:
  InstantTarget(Clock& clock, bool generates) : clock_(clock), generates_(generates) {}
  TargetLimits limits() const override { return generates_ ? TargetLimits{1, 4} : TargetLimits{16, 4}; }
  void on_completion(TargetCompletion completion) override { completion_ = std::move(completion); }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) {
      if (generates_) {
        generate(query);
        continue;
      }
      std::vector<float> values;
      for (const uint32_t index : query.samples) values.push_back(static_cast<float>(index % 1000));
      const Shape shape{static_cast<int64_t>(values.size())};
      const TensorView view{DataType::f32, shape, reinterpret_cast<const std::byte*>(values.data())};
      Completed done{query.id, 0, static_cast<uint32_t>(values.size())};
      done.outputs = std::span(&view, 1);
      completion_(std::span(&done, 1));
    }
  }
  void flush() override {}
  void cancel() override {}

 private:
  void generate(const Query& query) {
    const std::array<int32_t, 2> values{static_cast<int32_t>(query.samples[0] % 1000), 7};
    const Shape shape{1, 2};
    const TensorView view{DataType::i32, shape, reinterpret_cast<const std::byte*>(values.data())};
    const Mark first{.id = MarkId::tokens, .ns = clock_.now()};
    const TokenCounts counts{.output = 2};
    Completed done{query.id, 0, 1};
    done.outputs = std::span(&view, 1);
    done.marks = std::span(&first, 1);
    done.tokens = &counts;
    completion_(std::span(&done, 1));
  }

  Clock& clock_;
  bool generates_;
  TargetCompletion completion_;
};

std::string tokens_of(std::span<const TensorView> outputs, size_t) {
  return {reinterpret_cast<const char*>(outputs[0].data), outputs[0].bytes()};
}

std::string answer_of(std::span<const TensorView> outputs, size_t row) {
  return {reinterpret_cast<const char*>(outputs[0].data) + row * sizeof(float), sizeof(float)};
}

void write_ours(const LoadgenSettings& settings, const std::string& folder) {
  const auto clock = make_real_clock();
  InstantTarget target(*clock, settings.token_latencies);
  LoadgenLogs logs(folder, {"6.0.17", "deepgap", "system", "library"}, settings, *clock, 0, false);
  const std::atomic<bool> interrupted{false};
  auto results = drive_loadgen({settings, &target, clock.get(), &logs, settings.token_latencies ? tokens_of : answer_of}, interrupted);
  if (settings.mode == LoadgenMode::accuracy) return logs.finish(nullptr);
  const LoadgenVerdict verdict = judge(settings, results.back());
  logs.finish(&verdict);
}

// What LoadGen warns of is its own logger; errors differ in their words, and result_invalid_reason is there as the verdict falls.
bool depends_on_time(const std::string& key) {
  return key == "warning_generic_message" || key == "result_invalid_reason" || key == "error_runtime";
}

std::vector<DetailEntry> reproducible(const std::filesystem::path& file) {
  auto entries = read_detail(file);
  std::erase_if(entries, [](const DetailEntry& entry) {
    return depends_on_time(entry.key) || (entry.key == "generic_message" && entry.value.get<std::string>().starts_with("Ending"));
  });
  return entries;
}

bool has_same_value(const std::string& key) {
  static const std::set<std::string> fixed{"sut_name",
                                           "qsl_name",
                                           "qsl_reported_total_count",
                                           "qsl_reported_performance_count",
                                           "generic_message",
                                           "loaded_qsl_set",
                                           "generated_query_count",
                                           "generated_samples_per_query",
                                           "generated_query_duration"};
  return fixed.contains(key) || key.starts_with("requested_") || key.starts_with("effective_");
}

void expect_same_logs(const LoadgenSettings& settings) {
  TemporaryFolder ours, theirs;
  run_reference(settings, theirs.path(), false, instant_answer(settings));
  write_ours(settings, ours.path());
  const auto a = reproducible(ours / "mlperf_log_detail.txt"), b = reproducible(theirs / "mlperf_log_detail.txt");
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    ASSERT_EQ(a[i].key, b[i].key) << "line " << i;
    if (has_same_value(a[i].key)) {
      ASSERT_EQ(a[i].value, b[i].value) << a[i].key;
    }
  }
  EXPECT_EQ(a.size(), b.size());
  const bool streams = settings.scenario == LoadgenScenario::single_stream || settings.scenario == LoadgenScenario::multi_stream;
  if (streams && settings.mode != LoadgenMode::accuracy) return;  // how much is issued depends on time
  const auto accuracy = [](const TemporaryFolder& folder) { return read_text(folder / "mlperf_log_accuracy.json"); };
  EXPECT_TRUE(accuracy(ours) == accuracy(theirs));
}

// What stands before the colon. Recommendations are there as the verdict falls, and their words differ.
std::vector<std::string> labels_of(const std::filesystem::path& file) {
  std::vector<std::string> labels;
  for (const std::string& line : split(read_text(file.string()), '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && !line.starts_with(" *") && !line.starts_with("Recommendations"))
      labels.push_back(line.substr(0, colon));
  }
  return labels;
}

TEST(LoadgenInterop, SummariesHaveTheSameLines) {
  for (int scenario = 0; scenario < 4; ++scenario)
    for (const bool tokens : {false, true}) {
      LoadgenSettings settings;
      settings.scenario = static_cast<LoadgenScenario>(scenario);
      settings.total_sample_count = settings.performance_sample_count = 64;
      settings.min_duration_ms = 20;
      settings.min_query_count = 700;
      settings.target_qps = 50000;
      settings.expected_latency_ns = 1000;
      settings.token_latencies = tokens;
      settings.infers_tokens = !tokens;
      settings.token_latency_scaling_factor = 3;
      SCOPED_TRACE(name_of(settings.scenario));
      TemporaryFolder ours, theirs;
      run_reference(settings, theirs.path(), false, instant_answer(settings));
      write_ours(settings, ours.path());
      EXPECT_EQ(labels_of(ours / "mlperf_log_summary.txt"), labels_of(theirs / "mlperf_log_summary.txt"));
    }
}

TEST(LoadgenInterop, LogsOfRandomSettings) { for_random_settings(30, expect_same_logs); }

}  // namespace
}  // namespace deepgap
