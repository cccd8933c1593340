// MLPerf as RunRules: what a Point's option `mlperf` and the options beside it ask for.
#include "worker/run_rules.h"

#include "base/registry.h"
#include "mlperf/driver.h"
#include "mlperf/loadgen/run_options.h"
#include "record/point_option.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

LoadgenRunSettings run_without_dataset(const Point& point) {
  return loadgen_run_of(point, loadgen_library_size(point.options, point.model));
}

class MlperfRules final : public RunRules {
 public:
  OptionInfo summary() const override { return {"mlperf_NAME", "options of an MLPerf run, listed in docs/reference/scenarios.md", ""}; }
  const std::vector<OptionInfo>& options() const override { return loadgen_options(); }

  void check(const Point& point) const override {
    const LoadgenRunSettings run = run_without_dataset(point);
    if (run.settings.token_latencies && point.task != Task::generate)
      throw Error(
          ErrorKind::usage,
          "latencies of tokens are those of answers that are generated: add --task generate, or leave mlperf_use_token_latencies out");
    // LoadGen would take 1 a second, with which a run by the rules lasts for days.
    if (point.scenario == "server" && !point.options.contains("rate") && !point.options.contains("mlperf_target_qps"))
      throw Error(ErrorKind::usage, "an MLPerf server run needs a rate of queries: give --rate 200, mlperf_target_qps or a user.conf");
  }

  Support spread_support(const Point& point, const DispatchOptions& options) const override {
    if (point.placement.processes > 1) return {false, "an MLPerf run is one process: it writes one set of logs"};
    if (options.urgent > 0) return {false, "MLPerf's queries have no classes: leave urgent out"};
    return {};
  }

  size_t library_size(const Point& point) const override { return static_cast<size_t>(loadgen_library_size(point.options, point.model)); }

  double seconds(const Point& point) const override {
    LoadgenSettings settings;
    try {
      settings = run_without_dataset(point).settings;
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

  std::string log_name(const Point& point) const override {
    const std::string test = option_of(point, "mlperf_test", "none");
    return fmt::format("{}-{}", option_of(point, "mlperf"), test != "none" ? test : option_of(point, "mlperf_mode", "performance"));
  }

  std::unique_ptr<WorkloadDriver> driver(std::unique_ptr<WorkloadDriver> warm_up, const DispatchOptions& dispatch) const override {
    return make_mlperf_driver(std::move(warm_up), dispatch);
  }
};

const bool registered = Registry<RunRules>::instance().add("mlperf", [] { return std::make_unique<MlperfRules>(); });

}  // namespace

LoadgenRunSettings loadgen_run_of(const Point& point, int64_t library_size) {
  return loadgen_run_settings(point.options, point.scenario, point.model, library_size);
}

}  // namespace deepgap
