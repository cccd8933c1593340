#include "worker/mlperf_run.h"

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "record/point_option.h"
#include "scenario/mlperf/logs.h"
#include "scenario/mlperf/run_options.h"
#include "worker/accuracy.h"
#include "worker/classes.h"
#include "worker/timing_log.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

namespace deepgap {
namespace {

int64_t unix_ns_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What the drive carries of a sample: the log's bytes and, behind them, the best classes and their number.
std::string ranked_answer(std::span<const TensorView> outputs, size_t row) {
  std::string answer = mlperf_answer(outputs, row);
  const std::vector<int64_t> ranked = best_classes(outputs, row, ranked_classes);
  answer.append(reinterpret_cast<const char*>(ranked.data()), ranked.size() * sizeof(int64_t));
  answer.push_back(static_cast<char>(ranked.size()));
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
  MlperfWatcher(const Dataset& dataset, Pulse& pulse, LoadgenLogs* logs) : dataset_(dataset), pulse_(pulse), timings_(pulse), logs_(logs) {}

  void on_phase(LoadgenMode mode) override {
    mode_ = mode;
    if (logs_ != nullptr) logs_->on_phase(mode);
  }
  void on_set(const LoadgenSet& set) override {
    pulse_.beat();
    if (logs_ != nullptr) logs_->on_set(set);
  }
  void on_sample(const LoadgenFinishedSample& sample) override {
    pulse_.beat();
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
  Pulse& pulse_;
  TimingLog timings_;
  LoadgenLogs* logs_;
  LoadgenMode mode_ = LoadgenMode::performance;
  AccuracyCount accuracy_;
};

// The metric that MLPerf publishes of a scenario.
std::pair<std::string, double> score_of(const LoadgenSettings& settings, const LoadgenVerdict& verdict) {
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

LoadgenRunSettings run_settings(const Point& point, int64_t library_size) {
  return loadgen_run_settings(point.options, point.scenario, point.model, library_size);
}

void note_run(const LoadgenRunSettings& run, Record& record) {
  record.facts["mlperf.loadgen_rules"] = run.round.version;
  record.facts["mlperf.mode"] = std::string(name_of(run.settings.mode));
  record.facts["mlperf.library_samples"] = run.settings.total_sample_count;
  record.facts["mlperf.by_the_rules"] = run.deviations.empty() ? "nothing is known against it" : "no: " + join(run.deviations, "; ");
  record.facts["stopping"] = fmt::format("MLPerf {}, LoadGen {}'s rules", run.round.name, run.round.version);
}

void note_verdict(const LoadgenRunSettings& run, const LoadgenVerdict& verdict, const LoadgenPhaseResult& result, Record& record) {
  const auto [name, score] = score_of(run.settings, verdict);
  record.facts["mlperf.score." + name] = score;
  record.facts["mlperf.queries"] = result.queries;
  record.facts["mlperf.samples"] = verdict.samples;
  record.facts["mlperf.early_stopping_met"] = verdict.early_stopping_met;
  record.verdict = verdict.valid ? Verdict::valid : Verdict::invalid;
  record.reason = join(verdict.reasons, "; ");
  const double seconds = static_cast<double>(result.active_ns) / 1e9;
  if (seconds > 0) record.estimates["throughput"] = {static_cast<double>(verdict.samples) / seconds, {}, {}, result.queries};
}

// Whether an accuracy run reached what its benchmark asks; nothing is judged without labels or a target.
void judge_accuracy(const LoadgenRunSettings& run, const AccuracyCount& count, Record& record) {
  if (count.samples() == 0) return;
  record.estimates.merge(count.estimates());
  record.facts["mlperf.accuracy"] = count.top1();
  if (run.accuracy_target == 0) return;
  record.facts["mlperf.accuracy_target"] = run.accuracy_target;
  if (count.top1() >= run.accuracy_target) return;
  record.verdict = Verdict::invalid;
  const std::string why = fmt::format("accuracy: {:.4g} % of {} answers are right, {:.4g} % are asked for", count.top1() * 100,
                                      count.samples(), run.accuracy_target * 100);
  record.reason = record.reason.empty() ? why : record.reason + "; " + why;
}

// The detail log's hash tells later whether the files in the folder are still this run's.
void finish_logs(std::optional<LoadgenLogs>& logs, const LoadgenVerdict* verdict, const std::string& folder, Record& record) {
  if (!logs) return;
  logs->finish(verdict);
  record.facts["mlperf.log"] = folder;
  record.facts["mlperf.log_sha256"] = sha256(read_text(folder + "/mlperf_log_detail.txt"));
}

}  // namespace

bool is_mlperf(const Point& point) { return point.options.contains("mlperf"); }

std::unique_ptr<Scenario> scenario_of(const Point& point) {
  return Registry<Scenario>::instance().make("scenario", is_mlperf(point) ? "batch" : point.scenario);
}

size_t mlperf_library_size(const Point& point) {
  return is_mlperf(point) ? static_cast<size_t>(loadgen_library_size(point.options, point.model)) : 0;
}

void check_mlperf(const Point& point) {
  if (!is_mlperf(point)) return;
  if (point.options.contains("bound"))
    throw Error(ErrorKind::usage, "the round's rules bound an MLPerf run's latency: set mlperf_target_latency (ms) instead of bound");
  if (option_of(point, "shed", "none") != "none") throw Error(ErrorKind::usage, "an MLPerf run answers every query: leave out shed");
  run_settings(point, loadgen_library_size(point.options, point.model));
  // LoadGen would take 1 a second, with which a run by the rules lasts for days.
  if (point.scenario == "server" && !point.options.contains("rate") && !point.options.contains("mlperf_target_qps"))
    throw Error(ErrorKind::usage, "an MLPerf server run needs a rate of queries: give --rate 200, mlperf_target_qps or a user.conf");
}

double mlperf_seconds(const Point& point) {
  if (!is_mlperf(point)) return 0;
  LoadgenSettings settings;
  try {
    settings = run_settings(point, loadgen_library_size(point.options, point.model)).settings;
  } catch (const Error&) {
    return 0;  // the inspection says why
  }
  const EffectiveLoadgenSettings effective = effective_settings(settings);
  const auto seconds_of = [&](int64_t count) { return static_cast<double>(count) / effective.target_qps; };
  const double accuracy_s = seconds_of(effective.accuracy_sample_count);
  const double performance_s = settings.scenario == LoadgenScenario::offline
                                   ? seconds_of(effective.samples_per_query)
                                   : std::max(static_cast<double>(settings.min_duration_ms) / 1e3, seconds_of(effective.min_query_count));
  if (settings.mode == LoadgenMode::performance) return performance_s;
  return settings.mode == LoadgenMode::accuracy ? accuracy_s : accuracy_s + performance_s;
}

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

std::optional<Window> run_mlperf(const WorkOrder& order, const Dataset& dataset, Target& target, Clock& clock, Pulse& pulse,
                                 const std::atomic<bool>& interrupted, Record& record) {
  const Point& point = order.point;
  const LoadgenRunSettings run = run_settings(point, static_cast<int64_t>(dataset.size()));
  note_run(run, record);
  std::optional<LoadgenLogs> logs;
  if (!order.mlperf_log.empty()) {
    const LoadgenLogNames names{run.round.version, "deepgap " DEEPGAP_VERSION,
                                fmt::format("deepgap {} {} on {}", point.model, point.precision, point.backend), dataset.describe()};
    logs.emplace(order.mlperf_log, names, run.settings, clock, unix_ns_now(), order.mlperf_trace);
  }
  MlperfWatcher watcher(dataset, pulse, logs ? &*logs : nullptr);
  auto results = drive_loadgen({run.settings, &target, &clock, &watcher, ranked_answer}, interrupted);
  if (interrupted.load() || results.empty()) return std::nullopt;
  record.verdict = Verdict::valid;
  if (run.settings.mode == LoadgenMode::accuracy) {
    judge_accuracy(run, watcher.accuracy(), record);
    finish_logs(logs, nullptr, order.mlperf_log, record);
    return std::nullopt;
  }
  record.timings_dropped = watcher.timings().dropped();
  record.timings = watcher.timings().take();
  const LoadgenVerdict verdict = judge(run.settings, results.back());
  note_verdict(run, verdict, results.back(), record);
  judge_accuracy(run, watcher.accuracy(), record);
  finish_logs(logs, &verdict, order.mlperf_log, record);
  return Window{"steady", results.back().start, results.back().start + results.back().active_ns};
}

}  // namespace deepgap
