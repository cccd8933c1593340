#include "backends/openai/openai_backend.h"

#include "backends/openai/openai_session.h"
#include "backends/openai/settings.h"
#include "base/text.h"

#include <deepgap/error.h>
#include <deepgap/generate.h>

#include <curl/curl.h>
#include <fmt/format.h>

#include <set>

namespace deepgap {

std::string OpenaiBackend::version() const {
  std::set<std::string> servers;
  for (const auto& [key, generator] : known_) servers.insert(generator.server);
  std::vector<std::string> all{fmt::format("libcurl {}", curl_version_info(CURLVERSION_NOW)->version)};
  all.insert(all.end(), servers.begin(), servers.end());
  return join(all, ", ");
}

std::vector<OptionInfo> OpenaiBackend::options() const { return openai_options().infos(); }

const ServedGenerator& OpenaiBackend::served(const std::string& name, const EngineRequest& request) {
  const DeviceId& device = request.placement.devices.front();
  const auto key = std::pair(device, name);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const OpenaiSettings settings = openai_options().parse(request.options);
  return known_.emplace(key, ask_for_generator(openai_address(device, settings), name, settings)).first->second;
}

// A node that takes prompts as deepgap/generate.h describes them. A prompt's size says how much memory samples take, as far as it is known.
Graph OpenaiBackend::remote_model(const std::string& name, const EngineRequest& request) {
  constexpr int64_t usual_prompt_bytes = 4096;
  served(name, request);
  Graph graph;
  graph.name = name;
  const Dim batch{1, batch_symbol};
  graph.values = {{"prompt", DataType::u8, Dims{batch, {usual_prompt_bytes, ""}}},
                  {"request", DataType::i64, Dims{batch, {static_cast<int64_t>(prompt_fields), ""}}},
                  {"tokens", DataType::i64, Dims{batch}}};
  graph.nodes.push_back({name, "Generate", "openai", {0, 1}, {2}, {}});
  graph.inputs = {0, 1};
  graph.outputs = {2};
  return graph;
}

Support OpenaiBackend::supports(const EngineRequest& request, const GraphSummary&) const {
  openai_options().parse(request.options);  // throws for values that cannot be read
  const std::string& kind = request.placement.devices.front().kind;
  if (kind != "http" && kind != "https") return {false, fmt::format("openai: {}:// is not its protocol: give http://host:port", kind)};
  if (request.inputs != InputPlace::host) return {false, "openai: inputs travel to the server with each query: inputs=host"};
  return {};
}

std::unique_ptr<Session> OpenaiBackend::load(const Model& model, const LoadOptions& options) {
  const OpenaiSettings settings = openai_options().parse(options.options);
  const ServerAddress address = openai_address(options.placement.devices.front(), settings);
  return make_openai_session(address, served(model.name(), options), settings, options);
}

}  // namespace deepgap
