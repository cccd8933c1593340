// The Dispatcher's options, as axes: they spread a Point's queries over Sessions. docs/reference/scenarios.md describes them.
#pragma once

#include "base/option_table.h"
#include "scenario/dispatcher.h"

#include <deepgap/backend.h>
#include <deepgap/point.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct DispatchOptions {
  int64_t instances = 1;             // Sessions on each device
  std::optional<int64_t> max_batch;  // samples; nullopt: the Point's batch
  Nanoseconds max_delay = 0;
  std::optional<int64_t> queue_limit;  // queries; nullopt: as many as make a batch for every slot
  Shedding shedding = Shedding::none;
  double shed_allowed = 0;  // share of the queries that a valid result may have shed
  InstanceChoice choice = InstanceChoice::round_robin;
  double urgent = 0;           // share of the queries that go before all others
  bool pad_to_powers = false;  // batches are filled up to a power of two, so that the engine compiles a few sizes alone
};

const OptionTable<DispatchOptions>& dispatch_options();

// Returns whether a Dispatcher stands between the Scenario and the Sessions, or there is one bare Session.
bool needs_dispatcher(const Point& point);

// Most samples of a batch that a Session gets.
int64_t largest_batch(const Point& point, const DispatchOptions& options);
// Every size that a Session may get, ascending: queries are never torn apart where max_batch is a multiple of their size.
std::vector<int64_t> batch_sizes(const Point& point, const DispatchOptions& options);

// `in_flight`: what the Scenario keeps in flight at least.
DispatcherSettings dispatcher_settings(const Point& point, const DispatchOptions& options, int64_t in_flight);

// Returns whether the Point's Sessions can be spread over its devices and processes at all.
Support spread_support(const Point& point, const DispatchOptions& options);
// ... and whether the backend can run this on each of the Point's devices, one Session on each; `request` is engine_request() of it.
Support supports_everywhere(const Backend& backend, const Point& point, const GraphSummary& graph, const DispatchOptions& options,
                            const EngineRequest& request);

// One Session of a Point: on one device, with its share of the threads.
struct InstanceLoad {
  std::string name;  // "cuda:0"; "cpu #2" where a device has several
  DeviceId device;
  int threads = 1;
  int64_t share = 0;  // which of the device's Sessions it is
};
// The part of `cpus` that is share `index` of `count`: all of them where there are too few to share out.
std::vector<int> cpu_share(const std::vector<int>& cpus, int64_t index, int64_t count);

// A CPU's threads are shared out among its Sessions, so that the machine's use is the same with any number of them.
std::vector<InstanceLoad> instance_loads(const Point& point, const DispatchOptions& options);

}  // namespace deepgap
