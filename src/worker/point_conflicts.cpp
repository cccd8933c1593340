#include "worker/point_conflicts.h"

#include "base/feature_conflicts.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "stats/latency_bound.h"
#include "worker/dispatch_options.h"
#include "worker/generate_options.h"
#include "worker/task_work.h"

#include <algorithm>

namespace deepgap {
namespace {

void add_token_slo(const Point& point, Features& features) {
  const std::string bounds = option_of(point, "bound");
  if (bounds.empty()) return;
  for (const LatencyBound& bound : parse_latency_bounds(bounds)) {
    if (bound.metric != "latency") features.emplace("token SLO", bound.text);
  }
}

void add_power(const Point& point, Features& features) {
  const std::string power = "power=" + option_of(point, "power");
  features.emplace(power, power);
  const auto is_gpu = [](const DeviceId& device) { return device.kind == "cuda"; };
  if (std::all_of(point.placement.devices.begin(), point.placement.devices.end(), is_gpu)) features.emplace("GPU", "");
  if (scenario_traits(point.scenario).takes_all) features.emplace("full load", "");
}

Features features_of(const Point& point) {
  const std::string task(name_of(point.task));
  Features features{{"task=" + task, task}};
  if (point.batch > 1) features.emplace("batch", "batch");
  if (point.placement.processes > 1) features.emplace("processes", "processes");
  for (const auto& [name, value] : point.options) {
    if (!value.empty() && value != "off" && value != "none") features.emplace(name, name);
    if (name.starts_with("mlperf_")) features.emplace("mlperf option", name);
  }
  const auto add = [&](const char* group, const auto& table) {
    if (const OptionInfo* option = table.first_in(point.options)) features.emplace(group, option->name);
  };
  for (const auto& [name, work] : own_works())
    if (const OptionInfo* option = work->own_option(point.options)) features.emplace("option of " + name, option->name);
  add("generation option", generate_options());
  add("dispatch option", dispatch_options());
  add_token_slo(point, features);
  add_power(point, features);
  return features;
}

}  // namespace

void refuse_point_conflicts(const Point& point) { refuse_conflicts("point", features_of(point)); }

}  // namespace deepgap
