#include "worker/standstill.h"

#include "base/text.h"
#include "record/load_axis.h"
#include "record/point_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace deepgap {
namespace {

using Options = std::map<std::string, std::string>;

std::string value_of(const Options& options, const std::string& name, const std::string& otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

// Others refuse times that cannot be read; an empty text has no steps.
bool is_zero(const std::string& time) { return time.empty() || parse_duration(time).value_or(1) == 0; }

// Drift and noise are factors: of nothing they make nothing. Steps are as in "100:2ms/200:0ns"; one from query 0 on replaces the latency.
bool queries_take_time(const Options& backend) {
  const std::string steps = value_of(backend, "steps", "");
  std::vector<std::string> times;
  for (const std::string& step : split(steps, '/')) times.push_back(step.substr(step.find(':') + 1));
  if (!steps.starts_with("0:")) times.push_back(value_of(backend, "latency", "1ms"));
  times.push_back(value_of(backend, "per_sample", "0ns"));
  return !std::all_of(times.begin(), times.end(), is_zero);
}

bool only_answers_move_it(const Point& point, const PointOptions& options) {
  if (options.dispatch.max_delay > 0) return false;  // a batch that does not fill waits
  if (scenario_traits(point.scenario).takes_all) return true;
  if (point.scenario == "concurrency") return is_zero(value_of(options.scenario, "think_time", "0s"));
  return point.scenario == "multi-stream" && !options.scenario.contains("period");
}

}  // namespace

std::string standstill(const Point& point, const PointOptions& options) {
  if (!is_in_virtual_time(point) || queries_take_time(options.backend) || !only_answers_move_it(point, options)) return {};
  const std::string latency = value_of(options.backend, "latency", "1ms");
  return fmt::format(
      "{}: {} lets queries take no time, and with clock=virtual nothing else lets time pass: give latency, per_sample or one of the steps "
      "more than 0ns, or leave out clock=virtual",
      point.backend, is_zero(latency) ? "latency=" + latency : "steps=" + value_of(options.backend, "steps", ""));
}

}  // namespace deepgap
