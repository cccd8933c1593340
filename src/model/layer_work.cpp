#include "model/layer_work.h"

#include "model/graph_tools.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace deepgap {
namespace {

constexpr size_t no_layer = SIZE_MAX;

bool is_half(const std::string& precision) { return precision == "bf16" || precision == "fp16" || precision == "mixed"; }

bool is_dequantize(const Node& node) { return node.domain.empty() && node.op == "DequantizeLinear"; }

using Names = std::map<std::string, size_t, std::less<>>;

// The longest node name first, part after part; a part that does not name a node is passed over.
std::vector<size_t> nodes_in(const std::string& name, const Names& nodes) {
  std::vector<size_t> ends;
  for (size_t at = 0; at <= name.size(); ++at)
    if (at == name.size() || name[at] == '+') ends.push_back(at);
  std::vector<size_t> found;
  size_t begin = 0;
  while (begin <= name.size()) {
    const auto first_end = std::lower_bound(ends.begin(), ends.end(), begin);
    auto end = ends.end();
    auto node = nodes.end();
    while (node == nodes.end() && end != first_end) node = nodes.find(std::string_view(name).substr(begin, *--end - begin));
    if (node != nodes.end()) found.push_back(node->second);
    begin = (node != nodes.end() ? *end : *first_end) + 1;
  }
  return found;
}

// The Graph's values: who makes and reads them, and how many bytes each takes.
class Flow {
 public:
  Flow(const Graph& graph, const std::string& precision)
      : graph_(graph),
        half_(is_half(precision)),
        makers_(producers(graph)),
        readers_(consumers(graph)),
        outputs_(graph.outputs.begin(), graph.outputs.end()) {}

  const std::vector<size_t>& readers(ValueId id) const { return readers_[static_cast<size_t>(id)]; }
  bool is_output(ValueId id) const { return outputs_.contains(id); }
  std::optional<size_t> maker(ValueId id) const { return id == no_value ? std::nullopt : makers_[static_cast<size_t>(id)]; }

  bool is_quantized(const Node& node) const {
    const auto dequantized = [&](ValueId id) { return maker(id) && is_dequantize(graph_.nodes[*maker(id)]); };
    if (node.op.starts_with("QLinear") || node.op.ends_with("Integer")) return true;
    return node.inputs.size() > 1 && dequantized(node.inputs[0]) && dequantized(node.inputs[1]);
  }

  int64_t stored_bytes(ValueId id) const {
    const Value& value = graph_.values[static_cast<size_t>(id)];
    return is_known(graph_, id) ? element_count(known_shape(graph_, id)) * static_cast<int64_t>(element_bytes(id, value.type)) : 0;
  }

  // Returns the bytes that go in and out of the nodes together.
  int64_t moved_bytes(const std::vector<size_t>& nodes) const {
    const auto inside = [&](size_t node) { return std::binary_search(nodes.begin(), nodes.end(), node); };
    std::set<ValueId> moved;
    for (const size_t index : nodes) {
      const Node& node = graph_.nodes[index];
      if (known_count(graph_, node).bytes == 0) continue;  // a view
      for (const ValueId id : node.inputs)
        if (id != no_value && !(maker(id) && inside(*maker(id)))) moved.insert(id);
      for (const ValueId id : node.outputs)
        if (id != no_value && (is_output(id) || !std::all_of(readers(id).begin(), readers(id).end(), inside))) moved.insert(id);
    }
    int64_t bytes = 0;
    for (const ValueId id : moved) bytes += stored_bytes(id);
    return bytes;
  }

 private:
  size_t element_bytes(ValueId id, DataType type) const {
    const auto size_of = [&](ValueId other) { return byte_size(graph_.values[static_cast<size_t>(other)].type); };
    if (maker(id) && is_dequantize(graph_.nodes[*maker(id)])) return size_of(graph_.nodes[*maker(id)].inputs[0]);
    const auto quantizes = [&](size_t reader) { return graph_.nodes[reader].op == "QuantizeLinear"; };
    if (!readers(id).empty() && !is_output(id) && std::all_of(readers(id).begin(), readers(id).end(), quantizes))
      return size_of(graph_.nodes[readers(id).front()].outputs[0]);
    return type == DataType::f32 && half_ ? 2 : byte_size(type);
  }

  const Graph& graph_;
  bool half_;
  std::vector<std::optional<size_t>> makers_;  // by value
  std::vector<std::vector<size_t>> readers_;   // by value
  std::set<ValueId> outputs_;
};

// Engines that rename say what they make instead, or add an ending: "relu.out_nchwc" is the node whose result is relu.out.
std::optional<size_t> node_meant(std::string_view name, const Names& nodes, const Names& results) {
  constexpr std::string_view separators = "/_:.";
  for (size_t length = name.size(); length != 0 && length != std::string_view::npos; length = name.find_last_of(separators, length - 1)) {
    for (const Names* names : {&nodes, &results})
      if (const auto found = names->find(name.substr(0, length)); found != names->end()) return found->second;
  }
  return std::nullopt;
}

// Returns for each layer whether the engine says that it changes a layout.
std::vector<bool> reorders(size_t layers, const std::vector<std::string>& ops) {
  std::vector<bool> found(layers);
  for (size_t i = 0; i < std::min(layers, ops.size()); ++i) found[i] = ops[i].starts_with("Reorder");
  return found;
}

std::vector<size_t> named_layers(const Graph& graph, const std::vector<std::string>& names, const std::vector<bool>& reorder) {
  Names nodes, results;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    nodes.emplace(graph.nodes[i].name, i);
    for (const ValueId id : graph.nodes[i].outputs)
      if (id != no_value) results.emplace(graph.values[static_cast<size_t>(id)].name, i);
  }
  std::vector<size_t> layer_of(graph.nodes.size(), no_layer);
  std::vector<bool> found(names.size());
  for (size_t layer = 0; layer < names.size(); ++layer)
    for (const size_t node : nodes_in(names[layer], nodes)) {
      if (reorder[layer] && known_count(graph, graph.nodes[node]).flop > 0) continue;
      found[layer] = true;
      if (layer_of[node] == no_layer) layer_of[node] = layer;
    }
  for (size_t layer = 0; layer < names.size(); ++layer) {
    const auto node = found[layer] || reorder[layer] ? std::nullopt : node_meant(names[layer], nodes, results);
    if (node && layer_of[*node] == no_layer) layer_of[*node] = layer;
  }
  return layer_of;
}

// Returns for each node the one layer that its results go to, also through nodes without a layer. Goes backwards: readers come first.
std::vector<size_t> layers_gone_to(const Graph& graph, const Flow& flow, const std::vector<size_t>& layer_of) {
  std::vector<size_t> goes_to = layer_of;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (layer_of[i] != no_layer) continue;
    std::set<size_t> layers;
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id == no_value) continue;
      if (flow.is_output(id)) layers.insert(no_layer);
      for (const size_t reader : flow.readers(id)) layers.insert(goes_to[reader]);
    }
    if (layers.size() == 1) goes_to[i] = *layers.begin();
  }
  return goes_to;
}

// Layers that may have a multiplication without a name: they name something that computes, and nothing that multiplies.
std::vector<bool> lacks_multiplication(const Graph& graph, const std::vector<size_t>& layer_of, const std::vector<bool>& reorder) {
  const size_t layers = reorder.size();
  std::vector<bool> computes(layers), multiplies(layers);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (layer_of[i] == no_layer) continue;
    const NodeCount count = known_count(graph, graph.nodes[i]);
    if (count.bytes > 0) computes[layer_of[i]] = true;
    if (count.macs > 0) multiplies[layer_of[i]] = true;
  }
  for (size_t layer = 0; layer < layers; ++layer) computes[layer] = computes[layer] && !multiplies[layer] && !reorder[layer];
  return computes;
}

// Layers with what they have no name of: the nearest multiplication that nobody else does, and what lies between nodes of theirs.
std::vector<size_t> completed(const Graph& graph, const Flow& flow, std::vector<size_t> layer_of, const std::vector<bool>& reorder) {
  const std::vector<size_t> goes_to = layers_gone_to(graph, flow, layer_of);
  std::vector<bool> lacking = lacks_multiplication(graph, layer_of, reorder);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (layer_of[i] != no_layer || goes_to[i] == no_layer || !lacking[goes_to[i]] || known_count(graph, graph.nodes[i]).macs == 0) continue;
    layer_of[i] = goes_to[i];
    lacking[goes_to[i]] = false;
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (layer_of[i] != no_layer || goes_to[i] == no_layer) continue;
    const auto& inputs = graph.nodes[i].inputs;
    const bool between =
        std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) { return flow.maker(id) && layer_of[*flow.maker(id)] == goes_to[i]; });
    if (between && known_count(graph, graph.nodes[i]).macs == 0) layer_of[i] = goes_to[i];
  }
  return layer_of;
}

}  // namespace

WorkOfLayers work_of_layers(const Graph& bound, const std::string& precision, const std::vector<std::string>& names,
                            const std::vector<std::string>& ops) {
  const Flow flow(bound, precision);
  const std::vector<bool> reorder = reorders(names.size(), ops);
  const std::vector<size_t> named = named_layers(bound, names, reorder), layer_of = completed(bound, flow, named, reorder);
  WorkOfLayers result;
  result.layers.resize(names.size(), {.precision = "fp32"});
  for (size_t i = 0; i < bound.nodes.size(); ++i) {
    const Node& node = bound.nodes[i];
    const NodeCount count = known_count(bound, node);
    if (layer_of[i] == no_layer) {
      if (count.macs > 0) result.left_over.push_back(node.name);
      continue;
    }
    LayerWork& layer = result.layers[layer_of[i]];
    layer.nodes.push_back(i);
    if (named[i] == no_layer && count.macs == 0) continue;  // folded away, for all that is known
    layer.macs += count.macs;
    layer.flop += count.flop;
    if (count.macs > 0) layer.precision = precision == "int8" && !flow.is_quantized(node) ? "fp32" : precision;
  }
  for (LayerWork& layer : result.layers) layer.bytes = flow.moved_bytes(layer.nodes);
  return result;
}

}  // namespace deepgap
