#include "worker/dispatch_options.h"

#include "base/messages.h"
#include "base/text.h"
#include "record/record_json.h"
#include "worker/mlperf_run.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace deepgap {
namespace {

[[noreturn]] void wrong_value(const std::string& name, const std::string& value, std::string_view wanted) {
  throw Error(ErrorKind::usage, invalid_value(value, name, wanted));
}

int64_t whole(const std::string& name, const std::string& value, int64_t most) {
  const auto number = parse_int(value);
  if (!number || *number < 1 || *number > most) wrong_value(name, value, fmt::format("a whole number from 1 to {}", most));
  return *number;
}

template <typename Value>
Value one_of(const std::string& name, const std::string& value, const std::map<std::string, Value>& known) {
  const auto found = known.find(value);
  if (found != known.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [text, ignored] : known) names.push_back(text);
  throw Error(ErrorKind::usage, unknown_name(name, value, names));
}

Nanoseconds delay(const std::string& name, const std::string& value) {
  const auto time = value == "0" ? std::optional<int64_t>(0) : parse_duration(value);
  if (!time || *time < 0 || *time > 60'000'000'000) wrong_value(name, value, "a time from 0 to 60s, such as 2ms");
  return *time;
}

double share(const std::string& name, const std::string& value) {
  const auto percent = value.ends_with('%') ? parse_double(value.substr(0, value.size() - 1)) : std::nullopt;
  if (!percent || !(*percent >= 0) || *percent > 100) wrong_value(name, value, "a percentage from 0% to 100%");
  return *percent / 100;
}

}  // namespace

std::vector<OptionInfo> dispatch_option_infos() {
  return {{"instances", "sessions on each device; the threads of a CPU are shared among them", "1"},
          {"max_batch", "samples to join into one batch at most; by default the batch of a query", ""},
          {"max_delay", "time that a query may wait for its batch to fill: 2ms", "0"},
          {"queue_limit", "queries that may wait for an instance; by default enough for a batch in every slot", ""},
          {"shed", "policy when the queue is full: none (the load is held back), reject-newest, drop-oldest", "none"},
          {"shed_allowed", "largest share of shed queries in a valid result: 1%", "0%"},
          {"urgent", "share of queries that go before all others in the queue: 10%", "0%"},
          {"choose", "instance of the next batch: round-robin or least-loaded", "round-robin"},
          {"pad", "compiled batch sizes: none (every size) or power-of-two, to which batches are padded", "none"}};
}

bool set_dispatch_option(DispatchOptions& options, const std::string& name, const std::string& value) {
  if (name == "instances") {
    options.instances = whole(name, value, 1024);
  } else if (name == "max_batch") {
    options.max_batch = whole(name, value, 65'536);
  } else if (name == "max_delay") {
    options.max_delay = delay(name, value);
  } else if (name == "queue_limit") {
    options.queue_limit = whole(name, value, 10'000'000);
  } else if (name == "shed") {
    options.shedding = one_of<Shedding>(
        name, value, {{"none", Shedding::none}, {"reject-newest", Shedding::reject_newest}, {"drop-oldest", Shedding::drop_oldest}});
  } else if (name == "shed_allowed") {
    options.shed_allowed = share(name, value);
  } else if (name == "urgent") {
    options.urgent = share(name, value);
  } else if (name == "choose") {
    options.choice =
        one_of<InstanceChoice>(name, value, {{"round-robin", InstanceChoice::round_robin}, {"least-loaded", InstanceChoice::least_loaded}});
  } else if (name == "pad") {
    options.pad_to_powers = one_of<bool>(name, value, {{"none", false}, {"power-of-two", true}});
  } else {
    return false;
  }
  options.asked = true;
  return true;
}

bool needs_dispatcher(const Point& point, const DispatchOptions& options) { return options.asked || point.placement.devices.size() > 1; }

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
  if (is_mlperf(point) && point.placement.processes > 1) return {false, "an MLPerf run is one process: it writes one set of logs"};
  if (is_mlperf(point) && options.urgent > 0) return {false, "MLPerf's queries have no classes: leave urgent out"};
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
