#include "mlperf/endpoints/curve.h"

#include "base/text.h"
#include "base/words.h"
#include "mlperf/submission/system.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace deepgap {
namespace {

// A server's machine is not known: its address says which it is.
std::string system_of(const Record& record) {
  const std::string place = placement_name(record.point.placement);
  return is_remote(record.point.placement) ? fmt::format("{} on {}", record.point.model, place)
                                           : fmt::format("{} on {} of {}", record.point.model, place, mlperf_system_name(record));
}

std::string fault_of(const Record& record, int64_t clients) {
  if (record.outcome != Outcome::ok) return fmt::format("{}: {}", name_of(record.outcome), record.reason);
  if (record.verdict == Verdict::invalid || record.verdict == Verdict::none)
    return fmt::format("{}: {}", name_of(record.verdict), record.reason);
  const std::string pause = option_of(record.point, "think_time", "0");
  if (parse_duration(pause).value_or(0) > 0) return fmt::format("its clients pause for {} (think_time)", pause);
  return endpoints_gap(record, clients);
}

}  // namespace

bool EndpointsCurve::wants(const Record& record) {
  return record.point.task == Task::generate && record.point.scenario == "concurrency" && record.point.options.contains("clients");
}

void EndpointsCurve::add(Record record) {
  const int64_t clients = parse_int(option_of(record.point, "clients")).value_or(0);
  EndpointsPoint point;
  point.fault = fault_of(record, clients);
  if (point.fault.empty()) point.summary = endpoints_summary(record);
  record.timings = {};
  record.series = {};
  point.record = std::move(record);
  const auto known = points_.find(clients);
  if (known != points_.end() && known->second.fault.empty() && !point.fault.empty()) return;
  points_[clients] = std::move(point);
}

void EndpointsCurve::check() const {
  std::set<std::string> systems;
  std::set<Point> settings;
  for (const auto& [clients, point] : points_) {
    systems.insert(system_of(point.record));
    settings.insert(without_load(point.record.point));
  }
  if (systems.size() > 1)
    throw Error(ErrorKind::input, fmt::format("a curve is of one model on one system, and these records are of {}, {}: select one with "
                                              "--model, --backend, --device or --precision",
                                              systems.size(), fmt::join(systems, " and ")));
  if (settings.size() > 1)
    throw Error(ErrorKind::input,
                "a curve differs in the number of clients alone, and these records also in other options: select one "
                "set of them with --select or --study");
  for (const auto& [clients, point] : points_) {
    if (!point.fault.empty())
      throw Error(ErrorKind::input, fmt::format("concurrency {} has no usable record: {}", clients, one_line(point.fault)));
  }
}

double EndpointsCurve::most_tokens_per_s() const {
  double most = 0;
  for (const auto& [clients, point] : points_) most = std::max(most, point.summary.tokens_per_s);
  return most;
}

std::vector<std::string> EndpointsCurve::notes() const {
  std::vector<std::string> notes;
  for (const auto& [clients, point] : points_) {
    const Record& record = point.record;
    if (record.verdict == Verdict::unstable || record.verdict == Verdict::undecided)
      notes.push_back(fmt::format("concurrency {}: the record is {}: {}", clients, name_of(record.verdict), record.reason));
  }
  if (std::any_of(points_.begin(), points_.end(), [](const auto& each) { return is_in_virtual_time(each.second.record.point); }))
    notes.push_back("times are virtual: engine null measures nothing");
  return notes;
}

}  // namespace deepgap
