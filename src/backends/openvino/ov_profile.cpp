#include "backends/openvino/ov_profile.h"

#include "base/text.h"

#include <openvino/core/model.hpp>
#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/profiling_info.hpp>

#include <chrono>
#include <map>
#include <string>

namespace deepgap {
namespace {

using Names = std::map<std::string, std::string>;

// The library calls a node by its output.
Names node_names(const Graph& graph) {
  Names names;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != no_value) names.emplace(graph.values[static_cast<size_t>(id)].name, node.name);
    }
  }
  return names;
}

// Maps each layer as executed to the nodes of the file that it stands for, comma-separated.
Names origins(const ov::CompiledModel& compiled) {
  Names names;
  for (const auto& op : compiled.get_runtime_model()->get_ops()) {
    const auto found = op->get_rt_info().find("originalLayersNames");
    if (found != op->get_rt_info().end() && found->second.is<std::string>()) {
      names.emplace(op->get_friendly_name(), found->second.as<std::string>());
    }
  }
  return names;
}

std::string joined_names(const std::string& comma_separated, const Names& nodes) {
  std::vector<std::string> names;
  for (const std::string& one : split(comma_separated, ',')) {
    const auto known = nodes.find(one);
    names.push_back(known == nodes.end() ? one : known->second);
  }
  return join(names, "+");
}

}  // namespace

std::vector<LayerTiming> ov_layer_timings(ov::InferRequest& request, const Graph& graph) {
  const Names nodes = node_names(graph), made_of = origins(request.get_compiled_model());
  std::vector<LayerTiming> timings;
  for (const ov::ProfilingInfo& layer : request.get_profiling_info()) {
    if (layer.status != ov::ProfilingInfo::Status::EXECUTED) continue;
    const auto origin = made_of.find(layer.node_name);
    const bool known = origin != made_of.end() && !origin->second.empty();
    timings.push_back({joined_names(known ? origin->second : layer.node_name, nodes), layer.node_type,
                       std::chrono::duration_cast<std::chrono::nanoseconds>(layer.real_time).count()});
  }
  return timings;
}

}  // namespace deepgap
