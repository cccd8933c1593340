#include "record/load_axis.h"

#include "base/text.h"
#include "record/fact_values.h"
#include "record/task_traits.h"

#include <fmt/format.h>

#include <map>

namespace deepgap {

namespace {

std::map<std::string, ScenarioTraits>& declared() {
  static std::map<std::string, ScenarioTraits> traits;
  return traits;
}

}  // namespace

bool declare_scenario(const std::string& name, const ScenarioTraits& traits) { return declared().emplace(name, traits).second; }

ScenarioTraits scenario_traits(const std::string& name) {
  const auto found = declared().find(name);
  return found == declared().end() ? ScenarioTraits() : found->second;
}

std::optional<LoadAxis> load_axis(const std::string& scenario) { return scenario_traits(scenario).load_axis; }

std::string unit_of_work(const Point& point) {
  const std::string& unit = task_traits(point.task).unit;
  return unit.empty() ? scenario_traits(point.scenario).unit : unit;
}

std::string unit_of_work(const Record& record) {
  const auto* unit = fact_as<std::string>(record.facts, "unit");
  return unit != nullptr ? *unit : unit_of_work(record.point);
}

std::string units_text(uint64_t count, const std::string& unit) {
  if (count == 1) return "1 " + unit;
  if (unit.ends_with("y")) return fmt::format("{} {}ies", count, unit.substr(0, unit.size() - 1));
  return fmt::format("{} {}{}", count, unit, unit.ends_with("h") ? "es" : "s");
}

std::optional<double> load_of(const Point& point) {
  const auto axis = load_axis(point.scenario);
  if (!axis) return std::nullopt;
  if (axis->name == "batch") return static_cast<double>(point.batch);
  const auto option = point.options.find(axis->name);
  return option == point.options.end() ? std::nullopt : parse_double(option->second);
}

Point without_load(Point point) {
  const auto axis = load_axis(point.scenario);
  if (!axis) return point;
  if (axis->name == "batch") point.batch = 0;
  point.options.erase(axis->name);
  return point;
}

}  // namespace deepgap
