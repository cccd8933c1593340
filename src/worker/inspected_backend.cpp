#include "worker/inspected_backend.h"

#include "base/text.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace deepgap {
namespace {

// Some engines have a plug-in for each kind of device.
std::string other_plugin(const std::string& backend, const DeviceId& device) {
  const std::string name = fmt::format("{}_{}", backend, device.kind);
  const std::vector<std::string> names = plugin_names();
  return std::binary_search(names.begin(), names.end(), name) ? fmt::format("; backend {} is for that", name) : "";
}

}  // namespace

InspectedBackend inspect_backend(const std::string& name) {
  require_backend_name(name);
  InspectedBackend inspected;
  try {
    inspected.plugin = open_plugin(name);
    inspected.version = inspected.plugin->backend().version();
    inspected.options = inspected.plugin->backend().options();
    for (const DeviceInfo& device : inspected.plugin->backend().devices()) {
      inspected.devices.push_back(device_name(device.id));
      inspected.absences.insert(device.properties.begin(), device.properties.end());
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    inspected.plugin.reset();
    inspected.reason = error.what();
  }
  return inspected;
}

Support clock_support(const Point& point) {
  const bool shared = point.options.contains("tenants") || point.options.contains("end_to_end");
  if (is_in_virtual_time(point) && shared)
    return {false, fmt::format("{}: clock=virtual is for one process and one thread: leave out tenants and end_to_end", point.backend)};
  return {};
}

Support placement_support(const Point& point, const InspectedBackend& backend) {
  if (is_remote(point.placement)) return {};  // any server that answers
  for (const DeviceId& device : point.placement.devices) {
    const std::string name = device_name(device);
    if (std::find(backend.devices.begin(), backend.devices.end(), name) != backend.devices.end()) continue;
    const std::string has = backend.devices.empty() ? "no device" : join(backend.devices, ", ");
    const auto absence = backend.absences.find(device.kind);
    const std::string why = absence == backend.absences.end() ? "" : ": " + absence->second;
    return {false,
            fmt::format("{} has no device {} here{}; it has {}{}", point.backend, name, why, has, other_plugin(point.backend, device))};
  }
  return {};
}

Support batch_support(const Point& point, const GraphSummary& model, const DispatchOptions& options) {
  const Batching batching = batching_of(model.inputs);
  const auto sizes = batch_sizes(point, options);
  if (std::all_of(sizes.begin(), sizes.end(), [&](int64_t batch) { return batching.takes(batch); })) return {};
  return {false, fmt::format("{} {}", point.model, batching_text(batching))};
}

Support scenario_support(const Point& point, const GraphSummary& model, const Scenario& scenario) {
  try {
    scenario.check_batch(point.batch);
  } catch (const Error& error) {
    return {false, fmt::format("{} {}: {}", point.model, batching_text(batching_of(model.inputs)), error.what())};
  }
  return {};
}

}  // namespace deepgap
