#include "backends/kserve/kserve_backend.h"

#include "backends/kserve/http.h"
#include "backends/kserve/http_session.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

// The device that a request is about; throws for what no plug-in of ours speaks.
const DeviceId& server_of(const EngineRequest& request) {
  const DeviceId& device = request.placement.devices.front();
  if (device.kind == "http" || device.kind == "https") return device;
  throw Error(ErrorKind::refused, fmt::format("kserve: {}:// is not spoken yet; http:// and https:// are", device.kind));
}

}  // namespace

std::string KserveBackend::version() const {
  std::string text = fmt::format("libcurl {}", curl_version_info(CURLVERSION_NOW)->version);
  std::set<std::string> servers;
  for (const auto& [key, model] : known_) servers.insert(model.server);
  for (const std::string& server : servers) text += ", " + server;
  return text;
}

std::vector<OptionInfo> KserveBackend::options() const { return kserve_options().infos(); }

const ServedModel& KserveBackend::served(const std::string& name, const EngineRequest& request) {
  const DeviceId& device = server_of(request);
  const auto key = std::pair(device, name);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const KserveSettings settings = kserve_options().parse(request.options);
  return known_.emplace(key, ask_for_model(server_address(device, settings), name, settings)).first->second;
}

Graph KserveBackend::remote_model(const std::string& name, const EngineRequest& request) { return graph_of(served(name, request)); }

Support KserveBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  kserve_options().parse(request.options);
  if (request.task != "infer") return {false, fmt::format("kserve: task {} is not supported, only infer", request.task)};
  if (request.inputs != InputPlace::host) return {false, "kserve: inputs travel to the server with each query: inputs=host"};
  const auto found = known_.find(std::pair(request.placement.devices.front(), graph.name));
  if (found == known_.end()) return {};
  const int64_t largest = *std::max_element(request.batch_sizes.begin(), request.batch_sizes.end());
  const std::optional<int64_t> most = found->second.max_batch;
  if (most && *most > 0 && largest > *most)
    return {false, fmt::format("{} takes at most {} samples a request on this server, {} are asked for", graph.name, *most, largest)};
  return {};
}

std::unique_ptr<Session> KserveBackend::load(const Model& model, const LoadOptions& options) {
  const KserveSettings settings = kserve_options().parse(options.options);
  ServedModel found = served(model.name(), options);
  found.binary = found.binary && settings.binary;
  return make_http_session(server_address(server_of(options), settings), found, settings, model, options);
}

}  // namespace deepgap
