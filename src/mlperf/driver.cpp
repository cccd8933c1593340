#include "mlperf/driver.h"

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mlperf/loadgen/logs.h"
#include "worker/accuracy.h"
#include "worker/classes.h"
#include "worker/dispatch_record.h"
#include "worker/mark_meter.h"
#include "worker/timing_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

int64_t unix_ns_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Returns what the drive carries for a sample: the log's bytes and, behind them, the best classes and their number.
std::string ranked_answer(std::span<const TensorView> outputs, size_t row) {
  std::string answer = mlperf_answer(outputs, row);
  const std::vector<int64_t> ranked = best_classes(outputs, row, ranked_classes);
  answer.append(reinterpret_cast<const char*>(ranked.data()), ranked.size() * sizeof(int64_t));
  answer.push_back(static_cast<char>(ranked.size()));
  return answer;
}

// The same for an answer of tokens, which has no classes.
std::string token_answer(std::span<const TensorView> outputs, size_t /*row*/) {
  std::string answer;
  if (!outputs.empty()) answer.assign(reinterpret_cast<const char*>(outputs[0].data), outputs[0].bytes());
  answer.push_back(0);
  return answer;
}

std::pair<std::string_view, std::vector<int64_t>> parts_of(std::string_view answer) {
  if (answer.empty()) return {};  // not logged
  std::vector<int64_t> ranked(static_cast<size_t>(answer.back()));
  const size_t behind = ranked.size() * sizeof(int64_t) + 1;
  if (!ranked.empty()) std::memcpy(ranked.data(), answer.end() - behind, behind - 1);
  return {answer.substr(0, answer.size() - behind), std::move(ranked)};
}

// Keeps the performance phase's timings, counts right answers of accuracy, and passes on to the logs where there are some.
class MlperfWatcher final : public LoadgenObserver {
 public:
  MlperfWatcher(const Dataset& dataset, Heartbeat& heartbeat, LoadgenLogs* logs)
      : dataset_(dataset), heartbeat_(heartbeat), timings_(heartbeat), logs_(logs) {}

  void on_phase(LoadgenMode mode) override {
    mode_ = mode;
    if (logs_ != nullptr) logs_->on_phase(mode);
  }
  void on_set(const LoadgenSet& set) override {
    heartbeat_.beat();
    if (logs_ != nullptr) logs_->on_set(set);
  }
  void on_sample(const LoadgenFinishedSample& sample) override {
    heartbeat_.beat();
    const auto [answer, ranked] = parts_of(sample.answer);
    if (const auto label = dataset_.label(sample.index); mode_ == LoadgenMode::accuracy && label) accuracy_.add(ranked, *label);
    LoadgenFinishedSample logged = sample;
    logged.answer = answer;
    if (logs_ != nullptr) logs_->on_sample(logged);
  }
  void on_query(const Timing& timing) override {
    if (mode_ == LoadgenMode::performance) timings_.add(timing);
  }
  void on_result(const LoadgenPhaseResult& result) override {
    if (logs_ != nullptr) logs_->on_result(result);
  }

  TimingLog& timings() { return timings_; }
  const AccuracyCount& accuracy() const { return accuracy_; }

 private:
  const Dataset& dataset_;
  Heartbeat& heartbeat_;
  TimingLog timings_;
  LoadgenLogs* logs_;
  LoadgenMode mode_ = LoadgenMode::performance;
  AccuracyCount accuracy_;
};

// The metric that MLPerf publishes of a scenario.
std::pair<std::string, double> score_of(const LoadgenSettings& settings, const LoadgenVerdict& verdict) {
  const bool has_rate = settings.scenario == LoadgenScenario::server || settings.scenario == LoadgenScenario::offline;
  if (verdict.tokens && has_rate) return {"tokens_per_s", verdict.tokens->completed_per_s.value_or(0)};
  switch (settings.scenario) {
    case LoadgenScenario::single_stream:
      return {"early_stopping_90_percentile_latency_ms", static_cast<double>(verdict.early_stopping_90_ns) / 1e6};
    case LoadgenScenario::multi_stream:
      return {"early_stopping_99_percentile_latency_ms", static_cast<double>(verdict.early_stopping_99_ns) / 1e6};
    case LoadgenScenario::server:
      return {"completed_samples_per_s", verdict.completed_per_s.value_or(0)};
    case LoadgenScenario::offline:
      return {"samples_per_s", verdict.samples_per_s.value_or(0)};
  }
  return {};
}

void note_run(const LoadgenRunSettings& run, Measured& measured) {
  measured.facts["mlperf.loadgen_rules"] = run.round.version;
  measured.facts["mlperf.mode"] = std::string(name_of(run.settings.mode));
  measured.facts["mlperf.library_samples"] = run.settings.total_sample_count;
  measured.facts["mlperf.by_the_rules"] = run.deviations.empty() ? "nothing is known against it" : "no: " + join(run.deviations, "; ");
  measured.facts["stopping"] = fmt::format("MLPerf {}, LoadGen {}'s rules", run.round.name, run.round.version);
}

void note_tokens(const LoadgenSettings& settings, const LoadgenTokenVerdict& tokens, int64_t samples, Measured& measured) {
  const auto set = [&](const char* metric, double value) { measured.estimates[metric] = {value, {}, {}, samples}; };
  measured.facts["mlperf.tokens"] = tokens.count;
  if (tokens.completed_per_s) set("output_tokens_per_s", *tokens.completed_per_s);
  if (settings.scenario == LoadgenScenario::offline) return;
  const std::string percentile = fmt::format("p{:g}_ms", effective_settings(settings).target_latency_percentile * 100);
  measured.facts["mlperf.ttft_" + percentile] = static_cast<double>(tokens.first.target_percentile_ns) / 1e6;
  measured.facts["mlperf.tpot_" + percentile] = static_cast<double>(tokens.each.target_percentile_ns) / 1e6;
  set("ttft_p50_ms", static_cast<double>(tokens.first.percentile_ns[0]) / 1e6);
  set("tpot_ms", static_cast<double>(tokens.each.mean_ns) / 1e6);
}

void note_verdict(const LoadgenRunSettings& run, const LoadgenVerdict& verdict, const LoadgenPhaseResult& result, Measured& measured) {
  const auto [name, score] = score_of(run.settings, verdict);
  measured.facts["mlperf.score." + name] = score;
  measured.facts["mlperf.queries"] = result.queries;
  measured.facts["mlperf.samples"] = verdict.samples;
  measured.facts["mlperf.early_stopping_met"] = verdict.early_stopping_met;
  if (verdict.tokens) note_tokens(run.settings, *verdict.tokens, verdict.samples, measured);
  measured.verdict = verdict.valid ? Verdict::valid : Verdict::invalid;
  measured.reason = join(verdict.reasons, "; ");
  const double seconds = static_cast<double>(result.active_ns) / 1e9;
  if (seconds > 0) measured.estimates["throughput"] = {static_cast<double>(verdict.samples) / seconds, {}, {}, result.queries};
}

// Judges whether an accuracy run reached what its benchmark asks; nothing is judged without labels or a target.
void judge_accuracy(const LoadgenRunSettings& run, const AccuracyCount& count, Measured& measured) {
  if (count.samples() == 0) return;
  measured.estimates.merge(count.estimates());
  measured.facts["mlperf.accuracy"] = count.top1();
  if (run.accuracy_target == 0) return;
  measured.facts["mlperf.accuracy_target"] = run.accuracy_target;
  if (count.top1() >= run.accuracy_target) return;
  measured.verdict = Verdict::invalid;
  const std::string why = fmt::format("accuracy: {:.2f} % of {} answers are correct, the target is {:.2f} %", count.top1() * 100,
                                      count.samples(), run.accuracy_target * 100);
  measured.reason = measured.reason.empty() ? why : measured.reason + "; " + why;
}

// The detail log's hash shows later whether the files in the folder are still this run's.
void finish_logs(std::optional<LoadgenLogs>& logs, const LoadgenVerdict* verdict, const std::string& folder, Measured& measured) {
  if (!logs) return;
  logs->finish(verdict);
  measured.facts["mlperf.log"] = folder;
  measured.facts["mlperf.log_sha256"] = sha256(read_text(folder + "/mlperf_log_detail.txt"));
}

// One run under way.
struct LoadgenFilling {
  LoadgenFilling(const DriverContext& context, LoadgenRunSettings settings) : run(std::move(settings)), meter(context.target) {
    if (!context.order.log_dir.empty()) {
      const Point& point = context.order.point;
      const LoadgenLogNames names{run.round.version, "deepgap " DEEPGAP_VERSION,
                                  fmt::format("deepgap {} {} on {}", point.model, name_of(point.precision), point.backend),
                                  context.dataset.describe()};
      logs.emplace(context.order.log_dir, names, run.settings, context.clock, unix_ns_now(), context.order.log_trace);
    }
    watcher.emplace(context.dataset, context.heartbeat, logs ? &*logs : nullptr);
  }
  LoadgenRunSettings run;
  MarkMeter meter;
  std::optional<LoadgenLogs> logs;
  std::optional<MlperfWatcher> watcher;
  std::vector<LoadgenPhaseResult> results;
};

class MlperfDriver final : public WorkloadDriver {
 public:
  MlperfDriver(std::unique_ptr<WorkloadDriver> warm_up, DispatchOptions dispatch) : warm_up_(std::move(warm_up)), dispatch_(dispatch) {}

  std::string unit() const override { return "query"; }
  int64_t in_flight() const override { return warm_up_->in_flight(); }
  bool uses_all_slots() const override { return true; }
  bool judges_accuracy() const override { return true; }
  WarmedUp warm_up(const DriverContext& context) override { return warm_up_->warm_up(context); }

  void fill(const DriverContext& context) override {
    LoadgenFilling& filling = filling_.emplace(context, loadgen_run_of(context.order.point, static_cast<int64_t>(context.dataset.size())));
    if (context.dispatcher != nullptr) context.dispatcher->take_log();  // that of the warm-up
    const LoadgenAnswer answer = context.order.point.task == Task::generate ? token_answer : ranked_answer;
    filling.results = drive_loadgen({filling.run.settings, &filling.meter, &context.clock, &*filling.watcher, answer}, context.interrupted);
  }

  Measured measured(const DriverContext& context) override {
    LoadgenFilling& filling = *filling_;
    Measured measured;
    note_run(filling.run, measured);
    std::optional<LoadgenVerdict> verdict;
    if (filling.run.settings.mode != LoadgenMode::accuracy) {
      LoadgenPhaseResult& result = filling.results.back();
      measured.window = {"steady", result.start, result.start + result.active_ns};
      measured.timings_dropped = filling.watcher->timings().dropped();
      measured.timings = filling.watcher->timings().take();
      verdict = judge(filling.run.settings, result);
      note_verdict(filling.run, *verdict, result, measured);
    }
    judge_accuracy(filling.run, filling.watcher->accuracy(), measured);
    finish_logs(filling.logs, verdict ? &*verdict : nullptr, context.order.log_dir, measured);
    measured.estimates.merge(filling.meter.estimates());
    keep_dispatch(context.dispatcher, dispatch_, measured);
    filling_.reset();
    return measured;
  }

 private:
  std::unique_ptr<WorkloadDriver> warm_up_;
  DispatchOptions dispatch_;
  std::optional<LoadgenFilling> filling_;
};

}  // namespace

std::string mlperf_answer(std::span<const TensorView> outputs, size_t row) {
  if (outputs.empty() || outputs[0].shape.empty()) return {};
  const TensorView& output = outputs[0];
  const size_t bytes = output.bytes() / static_cast<size_t>(std::max<int64_t>(output.shape[0], 1));
  const char* begin = reinterpret_cast<const char*>(output.data) + row * bytes;
  if (output.type != DataType::f32 || output.shape.size() != 2) return {begin, bytes};
  std::vector<float> scores(bytes / sizeof(float));
  std::memcpy(scores.data(), begin, bytes);
  const auto best = static_cast<float>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  return {reinterpret_cast<const char*>(&best), sizeof(best)};
}

std::unique_ptr<WorkloadDriver> make_mlperf_driver(std::unique_ptr<WorkloadDriver> warm_up, const DispatchOptions& dispatch) {
  return std::make_unique<MlperfDriver>(std::move(warm_up), dispatch);
}

}  // namespace deepgap
