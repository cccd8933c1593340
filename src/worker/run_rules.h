// RunRules: a benchmark whose rules say what is issued and when a run ends, instead of a Point's Scenario and Stopping (MLPerf). A Point
// asks for them by an option of their name; their other options begin with that name and '_'. They add themselves to the Registry, and a
// build may have none. Without state; any thread.
#pragma once

#include "scenario/scenario.h"
#include "worker/dispatch_options.h"
#include "worker/workload_driver.h"

#include <deepgap/backend.h>
#include <deepgap/point.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

class RunRules {
 public:
  virtual ~RunRules() = default;
  // One row that stands for all options in lists: "mlperf_NAME".
  virtual OptionInfo summary() const = 0;
  virtual const std::vector<OptionInfo>& options() const = 0;
  // Throws Error{usage} for options that make no run, as far as they can be judged without the Dataset.
  virtual void check(const Point& point) const = 0;
  // Returns why the queries cannot be spread as the Point asks.
  virtual Support spread_support(const Point& point, const DispatchOptions& options) const = 0;
  // Returns how many samples a Dataset that is made up has. Throws Error{usage}.
  virtual size_t library_size(const Point& point) const = 0;
  // Returns the measured seconds by the settings alone, if the system keeps up; 0 for options that make no run.
  virtual double seconds(const Point& point) const = 0;
  // Returns what the folder of the run's logs is called, beside the scenario and the Point: "v6.0-performance".
  virtual std::string log_name(const Point& point) const = 0;
  // `warm_up` is what the Sessions are warmed up with.
  virtual std::unique_ptr<WorkloadDriver> driver(std::unique_ptr<WorkloadDriver> warm_up, const DispatchOptions& dispatch) const = 0;
};

// Returns the rules of this build, by name.
const std::map<std::string, std::unique_ptr<RunRules>>& all_rules();

// Returns the rules that the Point asks for; nullptr: it has a Scenario and a Stopping.
const RunRules* rules_of(const Point& point);

// Returns RunRules::library_size; 0 for a Point without rules.
size_t library_size(const Point& point);

// Returns the Point's Scenario; where rules apply, the one that warms up. Throws Error{usage} for one that is not known.
std::unique_ptr<Scenario> scenario_of(const Point& point);

}  // namespace deepgap
