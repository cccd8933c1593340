#include "worker/dispatch_options.h"

#include "record/record_json.h"
#include "worker/run_rules.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace deepgap {
namespace {

OptionTable<DispatchOptions> make_table() {
  using Options = DispatchOptions;
  constexpr Nanoseconds longest_delay = 60'000'000'000;
  OptionTable<Options> table;
  table.count("instances", "sessions on each device; the threads of a CPU are shared among them", &Options::instances, 1, 1024);
  table.count("max_batch", "samples to join into one batch at most", &Options::max_batch, 1, 65'536).by_default("the batch of a query");
  table.duration("max_delay", "time that a query may wait for its batch to fill: 2ms", &Options::max_delay, 0, longest_delay);
  table.count("queue_limit", "queries that may wait for an instance", &Options::queue_limit, 1, 10'000'000)
      .by_default("a batch for every slot");
  table.choice("shed", "policy when the queue is full: none (the load is held back), reject-newest, drop-oldest", &Options::shedding,
               {{"none", Shedding::none}, {"reject-newest", Shedding::reject_newest}, {"drop-oldest", Shedding::drop_oldest}});
  table.percentage("shed_allowed", "largest share of shed queries in a valid result: 1%", &Options::shed_allowed);
  table.percentage("urgent", "share of queries that go before all others in the queue: 10%", &Options::urgent);
  table.choice("choose", "instance of the next batch: round-robin or least-loaded", &Options::choice,
               {{"round-robin", InstanceChoice::round_robin}, {"least-loaded", InstanceChoice::least_loaded}});
  table.choice("pad", "compiled batch sizes: none (every size) or power-of-two, to which batches are padded", &Options::pad_to_powers,
               {{"none", false}, {"power-of-two", true}});
  return table;
}

}  // namespace

const OptionTable<DispatchOptions>& dispatch_options() {
  static const OptionTable<DispatchOptions> table = make_table();
  return table;
}

bool needs_dispatcher(const Point& point) {
  return dispatch_options().first_in(point.options) != nullptr || point.placement.devices.size() > 1;
}

int64_t largest_batch(const Point& point, const DispatchOptions& options) { return options.max_batch.value_or(point.batch); }

std::vector<int64_t> batch_sizes(const Point& point, const DispatchOptions& options) {
  const int64_t largest = largest_batch(point, options);
  const int64_t step = std::gcd(point.batch, largest);
  std::vector<int64_t> sizes;
  if (options.pad_to_powers) {
    for (int64_t size = 1; size < largest; size *= 2) {
      if (size >= step) sizes.push_back(size);
    }
    sizes.push_back(largest);
  } else {
    for (int64_t size = step; size <= largest; size += step) sizes.push_back(size);
  }
  return sizes;
}

DispatcherSettings dispatcher_settings(const Point& point, const DispatchOptions& options, int64_t in_flight) {
  DispatcherSettings settings;
  settings.max_batch = largest_batch(point, options);
  settings.max_delay = options.max_delay;
  if (options.pad_to_powers) settings.batch_sizes = batch_sizes(point, options);
  settings.query_samples = point.batch;
  settings.queue_limit = options.queue_limit.value_or(0);
  settings.least_in_flight = in_flight;
  settings.shedding = options.shedding;
  settings.choice = options.choice;
  settings.priorities = options.urgent > 0 ? 2 : 1;
  return settings;
}

Support spread_support(const Point& point, const DispatchOptions& options) {
  if (const RunRules* rules = rules_of(point)) {
    if (Support support = rules->spread_support(point, options); !support.ok) return support;
  }
  const auto devices = static_cast<int>(point.placement.devices.size());
  if (devices > 1 && devices % point.placement.processes != 0) {
    return {false, fmt::format("{} devices cannot be shared out evenly among {} processes", devices, point.placement.processes)};
  }
  std::set<DeviceId> seen;
  for (const DeviceId& device : point.placement.devices) {
    if (seen.insert(device).second) continue;
    return {false, fmt::format("{} is listed twice in {}; several sessions on a device are instances=2", device_name(device),
                               placement_name(point.placement))};
  }
  return {};
}

Support supports_everywhere(const Backend& backend, const Point& point, const GraphSummary& graph, const DispatchOptions& options,
                            const EngineRequest& request) {
  if (Support support = spread_support(point, options); !support.ok) return support;
  for (const DeviceId& device : point.placement.devices) {
    EngineRequest one = request;
    one.placement = {1, {device}};
    if (Support support = backend.supports(one, graph); !support.ok) return support;
  }
  return {};
}

std::vector<int> cpu_share(const std::vector<int>& cpus, int64_t index, int64_t count) {
  const auto each = static_cast<std::ptrdiff_t>(cpus.size()) / count;
  if (each == 0) return cpus;
  return {cpus.begin() + index * each, cpus.begin() + (index + 1) * each};
}

std::vector<InstanceLoad> instance_loads(const Point& point, const DispatchOptions& options) {
  std::vector<InstanceLoad> loads;
  for (const DeviceId& device : point.placement.devices) {
    const int sharing = device.kind == "cpu" ? static_cast<int>(options.instances) : 1;
    for (int64_t i = 1; i <= options.instances; ++i) {
      const std::string name = device_name(device);
      loads.push_back(
          {options.instances == 1 ? name : fmt::format("{} #{}", name, i), device, std::max(1, point.threads / sharing), i - 1});
    }
  }
  return loads;
}

}  // namespace deepgap
