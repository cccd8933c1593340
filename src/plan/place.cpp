#include "plan/place.h"

#include "plan/point_fields.h"
#include "record/duel_set.h"
#include "record/tenant_set.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace deepgap {
namespace {

constexpr std::string_view flag_prefix = "--";

// Returns which value of the axis the Point has; values are compared as they are on a Point, where "0" threads are a number of CPUs.
std::optional<size_t> value_of(const Axis& axis, const Point& point, int cpus) {
  const auto actual = value_on_point(point, axis.name);
  for (size_t i = 0; actual && i < axis.values.size(); ++i) {
    Point with;
    if (axis.name == "device") with.placement.processes = point.placement.processes;
    set_on_point(with, axis.name, axis.values[i], cpus);
    if (value_on_point(with, axis.name) == actual) return i;
  }
  return std::nullopt;
}

// Returns what a Point of the grid is made of: the grid's axes, and if it has tenants, for each of them its own before those.
std::vector<std::vector<Axis>> axes_of(const Grid& grid) {
  if (grid.tenants.empty()) return {grid.axes};
  std::vector<std::vector<Axis>> all;
  for (const TenantAxes& tenant : grid.tenants) {
    std::vector<Axis> axes = tenant;
    for (const Axis& axis : grid.axes) {
      if (axis.name != "tenant_cpus" && find_axis(tenant, axis.name) == nullptr) axes.push_back(axis);
    }
    all.push_back(std::move(axes));
  }
  return all;
}

bool make(const std::vector<Axis>& axes, const Point& point, int cpus) {
  Point made;
  made.threads = cpus;
  for (const Axis& axis : axes) {
    const auto value = value_of(axis, point, cpus);
    if (!value) return false;
    set_on_point(made, axis.name, axis.values[*value], cpus);
  }
  return made == point;
}

}  // namespace

std::string at_place(const std::string& place, const std::string& cause) {
  if (place.empty()) return cause;
  if (cause.starts_with(place + ": ") || cause.find(" for " + place + ": expected ") != std::string::npos)
    return cause;  // names it already
  // "invalid value 'x' for max_batch: expected ..." names the flag that gave it.
  if (place.starts_with(flag_prefix) && cause.starts_with("invalid value '")) {
    std::string option = place.substr(flag_prefix.size());
    if (option.starts_with("axis ")) option.erase(0, std::string_view("axis ").size());
    std::replace(option.begin(), option.end(), '-', '_');
    const std::string named = " for " + option + ": expected ";
    if (const size_t at = cause.find(named); at != std::string::npos)
      return cause.substr(0, at) + " for " + place + ": expected " + cause.substr(at + named.size());
  }
  const std::string name = place.starts_with(flag_prefix) ? place.substr(flag_prefix.size()) + ": " : "";
  return place + ": " + (!name.empty() && cause.starts_with(name) ? cause.substr(name.size()) : cause);
}

std::string place_of(const Study& study, const Point& point, const std::string& axis, int cpus) {
  const Point alone = without_duel(without_tenants(point));
  for (const Grid& grid : study.grids) {
    for (const std::vector<Axis>& axes : axes_of(grid)) {
      if (!make(axes, alone, cpus)) continue;
      const Axis* found = find_axis(axes, axis);
      if (found == nullptr) return grid.place;
      const size_t value = value_of(*found, alone, cpus).value();
      return value < found->places.size() ? found->places[value] : grid.place;
    }
  }
  return "";
}

}  // namespace deepgap
