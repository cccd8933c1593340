#include "plan/conflicts.h"

#include "base/feature_conflicts.h"
#include "plan/place.h"
#include "plan/tenants.h"
#include "plan/usual_names.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace deepgap {
namespace {

[[noreturn]] void refuse(const Grid& grid, const Axis* axis, const std::string& cause) {
  const std::string place = axis == nullptr ? grid.place : axis->places.empty() ? "" : axis->places.front();
  throw Error(ErrorKind::usage, at_place(place, cause));
}

// Returns the engine that an axis such as "openvino.hint" belongs to. Other prefixes do not name engines.
std::string engine_of(const std::string& axis) {
  const size_t dot = axis.find('.');
  const std::string prefix = dot == std::string::npos ? "" : axis.substr(0, dot);
  return prefix == "quantize" || prefix == "env" ? "" : prefix;
}

void refuse_absent_engines(const Grid& grid, const std::vector<Axis>& axes) {
  const Axis* backends = find_axis(axes, "backend");
  std::set<std::string> named;
  for (const std::string& name : backends == nullptr ? std::vector<std::string>{Point().backend} : backends->values)
    named.insert(usual_name("backend", name));
  for (const Axis& axis : axes) {
    const std::string engine = engine_of(axis.name);
    if (engine.empty() || named.contains(engine)) continue;
    refuse(
        grid, &axis,
        fmt::format("{} applies to backend {}, which none of the points has: add it to the backends, or leave it out", axis.name, engine));
  }
}

bool is_for_quantizing(const std::string& axis) { return axis.starts_with("quantize."); }

// Returns whether the value is that of an axis which is not there.
bool is_off(const std::string& axis, const std::string& value) {
  constexpr std::pair<std::string_view, std::string_view> offs[] = {{"processes", "1"}, {"max_delay", "0"}, {"shed_allowed", "0%"}};
  return value == "off" || value == "none" ||
         std::find(std::begin(offs), std::end(offs), std::pair<std::string_view, std::string_view>(axis, value)) != std::end(offs);
}

void add_rules(const StoppingSettings& stopping, Features& features) {
  if (stopping.iterations) features.emplace("iterations", "iterations");
  const StoppingSettings unasked;
  if (stopping.name == unasked.name && stopping.interval == unasked.interval && stopping.target == unasked.target) return;
  features.emplace("ending rule", "");
  if (stopping.name != "duration") features.emplace("open window", "");
}

Features features_of(const Grid& grid, const std::vector<Axis>& axes) {
  Features features;
  for (const Axis& axis : axes) {
    for (const std::string& value : axis.values) {
      if (is_off(axis.name, value)) continue;
      const std::string named = fmt::format("{}={}", axis.name, usual_name(axis.name, value));
      features.emplace(axis.name, axis.name);
      features.emplace(named, named);
    }
    if (is_for_quantizing(axis.name)) features.emplace("quantize option", axis.name);
  }
  if (!grid.tenants.empty()) features.emplace("tenants", "");
  if (!grid.duel.empty()) features.emplace("duel", "");
  if (grid.find_peak) features.emplace("find_peak", "");
  if (grid.energy) features.emplace("energy", "");
  if (grid.repeats * grid.sweeps > 1) features.emplace("repeats", "");
  add_rules(grid.stopping, features);
  return features;
}

}  // namespace

bool leave_out_what_is_for_others(Point& point) {
  return std::erase_if(point.options, [&](const auto& option) {
           const std::string engine = engine_of(option.first);
           return (!engine.empty() && engine != point.backend) || (is_for_quantizing(option.first) && point.precision != Precision::int8);
         }) > 0;
}

void refuse_conflicts(const Grid& grid) {
  const std::vector<Axis> axes = axes_with_tenants(grid);
  if (const auto conflict = find_conflict("grid", features_of(grid, axes))) {
    const std::string& feature = conflict->feature;
    const auto is_its = [&](const Axis& axis) { return feature == axis.name || feature.starts_with(axis.name + "="); };
    const auto axis = std::find_if(axes.begin(), axes.end(), is_its);
    refuse(grid, axis == axes.end() ? nullptr : &*axis, conflict->message);
  }
  refuse_absent_engines(grid, axes);
}

}  // namespace deepgap
