#include "worker/run_rules.h"

#include "base/messages.h"
#include "base/registry.h"

#include <deepgap/error.h>

namespace deepgap {

const std::map<std::string, std::unique_ptr<RunRules>>& all_rules() {
  static const std::map<std::string, std::unique_ptr<RunRules>> rules = [] {
    std::map<std::string, std::unique_ptr<RunRules>> made;
    const auto& registry = Registry<RunRules>::instance();
    for (const std::string& name : registry.names()) made.emplace(name, registry.make("rules", name));
    return made;
  }();
  return rules;
}

const RunRules* rules_of(const Point& point) {
  for (const auto& [name, rules] : all_rules()) {
    if (point.options.contains(name)) return rules.get();
  }
  return nullptr;
}

size_t library_size(const Point& point) {
  const RunRules* rules = rules_of(point);
  return rules == nullptr ? 0 : rules->library_size(point);
}

std::unique_ptr<Scenario> scenario_of(const Point& point) {
  const auto& scenarios = Registry<Scenario>::instance();
  const std::string name = rules_of(point) == nullptr ? point.scenario : "batch";
  if (!scenarios.contains(name)) throw Error(ErrorKind::usage, invalid_choice(name, "scenario", scenarios.names()));
  return scenarios.make("scenario", name);
}

}  // namespace deepgap
