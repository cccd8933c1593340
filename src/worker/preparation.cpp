#include "worker/preparation.h"

#include "base/option_values.h"
#include "record/duel_set.h"
#include "record/task_traits.h"
#include "telemetry/affinity.h"
#include "telemetry/environment.h"
#include "worker/peak_probe.h"
#include "worker/run_rules.h"
#include "worker/task_work.h"
#include "worker/turn_driver.h"

#include <deepgap/error.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// A closed loop keeps by default as many queries in flight as may overlap end to end, else one for each Session.
void keep_busy(const Point& point, const std::vector<OptionInfo>& known, PointOptions& options) {
  const OptionInfo* in_flight = find_option(known, "in_flight");
  if (in_flight == nullptr || in_flight->default_value.empty()) return;
  if (options.end_to_end.mode == EndToEnd::overlapped)
    options.scenario.emplace(in_flight->name, std::to_string(pipeline_slots_of(point, options)));
  if (in_flight->default_value == "1")
    options.scenario.emplace(in_flight->name, std::to_string(instance_loads(point, options.dispatch).size()));
}

PointOptions options_of(const WorkOrder& order, const Backend& backend, const std::vector<OptionInfo>& known) {
  PointOptions options = sort_options(order.point, backend.options(), known);
  keep_busy(order.point, known, options);
  draw_own_arrivals(options, known, order.repeat);
  draw_own_stream(options, backend.options(), order.repeat);
  // Not from the Point's seed: a second run of the same command would find the first one's prompts in a server's cache.
  std::random_device random;
  options.generate.unique_seed = uint64_t{random()} << 32 | random();
  return options;
}

}  // namespace

Preparation prepare(const WorkOrder& order, const Backend& backend) {
  auto scenario = scenario_of(order.point);
  Preparation prepared{
      options_of(order, backend, scenario->options()), {}, nullptr, backend.computes() && !task_traits(order.point.task).tokens};
  scenario->parse(prepared.options.scenario);
  prepared.stopping = window_settings(*scenario, order.stopping);
  prepared.driver = task_work(order.point).driver(order, prepared);
  if (contender_place(order.point)) prepared.driver = make_turn_driver(std::move(prepared.driver), std::move(scenario));
  if (const RunRules* rules = rules_of(order.point)) prepared.driver = rules->driver(std::move(prepared.driver), prepared.options.dispatch);
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
