#include "worker/mlperf_run.h"

#include "base/messages.h"

#include <deepgap/error.h>

#include <algorithm>

namespace deepgap {
bool is_mlperf(const Point& point) { return point.options.contains("mlperf"); }

LoadgenRunSettings loadgen_run_of(const Point& point, int64_t library_size) {
  return loadgen_run_settings(point.options, point.scenario, point.model, library_size);
}

std::unique_ptr<Scenario> scenario_of(const Point& point) {
  const auto& scenarios = Registry<Scenario>::instance();
  const std::string name = is_mlperf(point) ? "batch" : point.scenario;
  if (!scenarios.contains(name)) throw Error(ErrorKind::usage, invalid_choice(name, "scenario", scenarios.names()));
  return scenarios.make("scenario", name);
}

size_t mlperf_library_size(const Point& point) {
  return is_mlperf(point) ? static_cast<size_t>(loadgen_library_size(point.options, point.model)) : 0;
}

void check_mlperf(const Point& point) {
  if (!is_mlperf(point)) return;
  const LoadgenRunSettings run = loadgen_run_of(point, loadgen_library_size(point.options, point.model));
  if (run.settings.token_latencies && point.task != Task::generate)
    throw Error(
        ErrorKind::usage,
        "latencies of tokens are those of answers that are generated: add --task generate, or leave mlperf_use_token_latencies out");
  // LoadGen would take 1 a second, with which a run by the rules lasts for days.
  if (point.scenario == "server" && !point.options.contains("rate") && !point.options.contains("mlperf_target_qps"))
    throw Error(ErrorKind::usage, "an MLPerf server run needs a rate of queries: give --rate 200, mlperf_target_qps or a user.conf");
}

double mlperf_seconds(const Point& point) {
  if (!is_mlperf(point)) return 0;
  LoadgenSettings settings;
  try {
    settings = loadgen_run_of(point, loadgen_library_size(point.options, point.model)).settings;
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

}  // namespace deepgap
