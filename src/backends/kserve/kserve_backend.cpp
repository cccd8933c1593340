#include "backends/kserve/kserve_backend.h"

#include "backends/http/http.h"
#include "backends/kserve/grpc_protocol.h"
#include "backends/kserve/http_session.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

bool is_grpc(const DeviceId& device) { return device.kind == "grpc" || device.kind == "grpcs"; }

KserveSettings settings_for(const DeviceId& device, const EngineOptions& options) {
  KserveSettings settings = kserve_options().parse(options);
  const auto of_grpc = [&](const char* name) {
    if (options.contains(name) && !is_grpc(device))
      throw Error(ErrorKind::usage, fmt::format("kserve: {} is of gRPC: give --device grpc://host:port, or leave it out", name));
  };
  of_grpc("stream");
  of_grpc("channels");
  if (!settings.binary && is_grpc(device))
    throw Error(ErrorKind::usage, "kserve: tensors=json is of HTTP: over gRPC tensors travel as bytes");
  return settings;
}

}  // namespace

// Returns the versions of what was used or, before anything was used, of what is available.
std::string KserveBackend::version() const {
  std::set<std::string> clients, servers;
  const std::string http = fmt::format("libcurl {}", curl_version_info(CURLVERSION_NOW)->version);
  if (known_.empty()) return http + ", " + grpc_version();
  for (const auto& [key, model] : known_) {
    clients.insert(is_grpc(key.first) ? grpc_version() : http);
    servers.insert(model.server);
  }
  std::vector<std::string> all(clients.begin(), clients.end());
  all.insert(all.end(), servers.begin(), servers.end());
  return join(all, ", ");
}

std::vector<OptionInfo> KserveBackend::options() const { return kserve_options().infos(); }

const ServedModel& KserveBackend::served(const std::string& name, const EngineRequest& request) {
  const DeviceId& device = request.placement.devices.front();
  const auto key = std::pair(device, name);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const KserveSettings settings = settings_for(device, request.options);
  const auto ask = is_grpc(device) ? grpc_protocol().ask_for_model : ask_for_model_by_http;
  return known_.emplace(key, ask(server_address(device, settings), name, settings)).first->second;
}

Graph KserveBackend::remote_model(const std::string& name, const EngineRequest& request) { return graph_of(served(name, request)); }

Support KserveBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  settings_for(request.placement.devices.front(), request.options);
  if (request.inputs != InputPlace::host) return {false, "kserve: inputs travel to the server with each query: inputs=host"};
  const auto found = known_.find(std::pair(request.placement.devices.front(), graph.name));
  if (found == known_.end()) return {};
  const int64_t largest = *std::max_element(request.batch_sizes.begin(), request.batch_sizes.end());
  const std::optional<int64_t> most = found->second.max_batch;
  if (most && *most > 0 && largest > *most)
    return {false, fmt::format("{} accepts at most {} samples a request on this server; this point sends {}", graph.name, *most, largest)};
  return {};
}

std::unique_ptr<Session> KserveBackend::load(const Model& model, const LoadOptions& options) {
  const DeviceId& device = options.placement.devices.front();
  const KserveSettings settings = settings_for(device, options.options);
  ServedModel found = served(model.name(), options);
  found.binary = found.binary && settings.binary;
  const auto make = is_grpc(device) ? grpc_protocol().make_session : make_http_session;
  return make(server_address(device, settings), found, settings, model, options);
}

}  // namespace deepgap
