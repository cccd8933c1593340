// A backend as the inspection of a Plan meets it, and what speaks against running a Point on it before the engine itself is asked.
#pragma once

#include "scenario/scenario.h"
#include "worker/dispatch_options.h"
#include "worker/plugin.h"

#include <deepgap/backend.h>
#include <deepgap/point.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// A backend that loaded, or why it did not.
struct InspectedBackend {
  std::unique_ptr<Plugin> plugin;
  std::string reason, version;
  std::vector<OptionInfo> options;
  std::vector<std::string> devices;
  std::map<std::string, std::string> absences;  // device property -> why it is absent, for properties named like a kind of device
};
// A name that nobody knows is the user's slip and throws Error{usage}; one that is known and does not load is the machine's affair: its
// Points are refused.
InspectedBackend inspect_backend(const std::string& name);

Support clock_support(const Point& point);  // time that others share cannot jump
Support placement_support(const Point& point, const InspectedBackend& backend);
Support batch_support(const Point& point, const GraphSummary& model, const DispatchOptions& options);
// A batch that the model insists on may be none for the scenario.
Support scenario_support(const Point& point, const GraphSummary& model, const Scenario& scenario);

}  // namespace deepgap
