#include "worker/preparation.h"

#include "base/option_values.h"
#include "record/duel_set.h"
#include "telemetry/affinity.h"
#include "telemetry/environment.h"
#include "worker/equal_steps.h"
#include "worker/mlperf_driver.h"
#include "worker/mlperf_run.h"
#include "worker/peak_probe.h"
#include "worker/scenario_driver.h"
#include "worker/training_driver.h"
#include "worker/turn_driver.h"

#include <deepgap/error.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// A closed loop keeps by default one query in flight for each Session.
void keep_sessions_busy(const Point& point, const std::vector<OptionInfo>& known, PointOptions& options) {
  const size_t sessions = instance_loads(point, options.dispatch).size();
  const OptionInfo* in_flight = find_option(known, "in_flight");
  if (in_flight != nullptr && in_flight->default_value == "1") options.scenario.emplace(in_flight->name, std::to_string(sessions));
}

// A closed loop keeps by default as many queries in flight as may overlap.
void keep_lanes_busy(const Point& point, const std::vector<OptionInfo>& known, PointOptions& options) {
  if (options.end_to_end.mode != EndToEnd::overlapped) return;
  const OptionInfo* in_flight = find_option(known, "in_flight");
  if (in_flight != nullptr && !in_flight->default_value.empty())
    options.scenario.emplace(in_flight->name, std::to_string(pipeline_slots_of(point, options)));
}

PointOptions options_of(const WorkOrder& order, const Backend& backend, const std::vector<OptionInfo>& known) {
  PointOptions options = sort_options(order.point, backend.options(), known);
  keep_lanes_busy(order.point, known, options);
  keep_sessions_busy(order.point, known, options);
  draw_own_arrivals(options, known, order.repeat);
  draw_own_stream(options, backend.options(), order.repeat);
  // Not from the Point's seed: a second run of the same command would find the first one's prompts in a server's cache.
  std::random_device random;
  options.generate.unique_seed = uint64_t{random()} << 32 | random();
  return options;
}

// Ranks of a training make the same number of steps, which a number or a duration gives, and not what each of them finds while it runs.
void require_equal_steps(const WorkOrder& order) {
  const StoppingSettings& stopping = order.stopping;
  if (!trains(order.point) || order.ranks == 1 || stopping.name == "duration") return;
  if (stopping.name == "counts" && stopping.warmup && !stopping.duration) return;
  throw Error(ErrorKind::usage,
              "several processes train the same number of steps: give --duration, or --warmup and --iterations without --min-duration");
}

std::unique_ptr<WorkloadDriver> training_driver(const WorkOrder& order, const Preparation& prepared) {
  const auto make_steps = [point = order.point, options = prepared.options](const StoppingSettings& stopping) {
    auto scenario = scenario_of(point);
    scenario->parse(options.scenario);
    return make_scenario_driver(std::move(scenario), options, stopping);
  };
  const bool agree = order.ranks > 1 && prepared.stopping.name == "duration";
  return make_training_driver(agree ? make_equal_steps(make_steps, prepared.stopping) : make_steps(prepared.stopping));
}

}  // namespace

Preparation prepare(const WorkOrder& order, const Backend& backend) {
  require_equal_steps(order);
  auto scenario = scenario_of(order.point);
  Preparation prepared{options_of(order, backend, scenario->options()), {}, nullptr, backend.computes() && !generates(order.point)};
  scenario->parse(prepared.options.scenario);
  prepared.stopping = window_settings(*scenario, order.stopping);
  prepared.driver = make_scenario_driver(std::move(scenario), prepared.options, prepared.stopping);
  if (trains(order.point)) prepared.driver = training_driver(order, prepared);
  if (contender_place(order.point)) {
    auto of_turns = scenario_of(order.point);
    of_turns->parse(prepared.options.scenario);
    prepared.driver = make_turn_driver(std::move(prepared.driver), std::move(of_turns));
  }
  if (is_mlperf(order.point)) prepared.driver = make_mlperf_driver(std::move(prepared.driver), prepared.options.dispatch);
  return prepared;
}

StoppingSettings window_settings(const Scenario& scenario, const StoppingSettings& asked) {
  const StoppingSettings unasked;
  if (asked.name != unasked.name || asked.interval != unasked.interval || asked.target != unasked.target) return asked;
  const Nanoseconds own = scenario.default_duration();
  if (own == 0) return asked;
  StoppingSettings settings = asked;
  settings.name = own == never ? "schedule" : "duration";
  // Not beyond the budget, and not below --min-duration.
  if (own != never) settings.duration = std::max(std::min(own, settings.budget), settings.duration.value_or(0));
  return settings;
}

int decode_threads_of(const Point& point, const PointOptions& options) {
  return decode_threads(point, options.end_to_end, std::min(allowed_cpus().size(), measured_cpus().size()));
}

int64_t pipeline_slots_of(const Point& point, const PointOptions& options) {
  return pipeline_slots(point, options.end_to_end, options.dispatch, decode_threads_of(point, options), options.streams);
}

}  // namespace deepgap
