#include "model/random_numbers.h"

#include "base/words.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace deepgap {
namespace {

// Operators that drop values while they train, with the input that says whether they do.
constexpr std::array<std::pair<std::string_view, size_t>, 4> dropouts{
    {{"Dropout", 2}, {"BitmaskDropout", 2}, {"BiasDropout", 4}, {"BitmaskBiasDropout", 4}}};

bool trains(const Graph& graph, const Node& node) {
  for (const auto& [op, mode] : dropouts) {
    if (node.op != op || node.inputs.size() <= mode || node.inputs[mode] == no_value) continue;
    const Tensor* given = constant_of(graph, node.inputs[mode]);
    return given == nullptr || given->data == nullptr || given->type != DataType::boolean || given->as<uint8_t>()[0] != 0;
  }
  return false;
}

std::string random_node_in(const Graph& graph, const Node& node) {
  if (draws_random_numbers(graph, node)) return printable(fmt::format("node '{}' ({})", node.name, node.op));
  for (const auto& [name, attribute] : node.attributes) {
    const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute);
    if (body == nullptr) continue;
    for (const Node& inner : (*body)->nodes)
      if (std::string found = random_node_in(**body, inner); !found.empty()) return found;
  }
  return "";
}

std::set<std::string> captured_by(const Node& node) {
  std::set<std::string> names;
  for (const auto& [name, attribute] : node.attributes)
    if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute)) names.merge(captured_names(**body));
  return names;
}

// Returns beside the nodes whether an output depends on what the node makes.
std::vector<bool> reaching_outputs(const Graph& graph) {
  std::set<ValueId> wanted(graph.outputs.begin(), graph.outputs.end());
  std::set<std::string> wanted_names;
  std::vector<bool> reaches(graph.nodes.size(), false);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    for (const ValueId id : node.outputs)
      reaches[i] = reaches[i] || (id != no_value && (wanted.contains(id) || wanted_names.contains(graph.values[id].name)));
    if (!reaches[i]) continue;
    wanted.insert(node.inputs.begin(), node.inputs.end());
    wanted_names.merge(captured_by(node));
  }
  return reaches;
}

}  // namespace

bool is_random_operator(const Node& node) { return node.op.starts_with("Random") || node.op == "Bernoulli" || node.op == "Multinomial"; }

bool draws_random_numbers(const Graph& graph, const Node& node) { return is_random_operator(node) || trains(graph, node); }

std::string random_node(const Graph& graph) {
  const std::vector<bool> reaches = reaching_outputs(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!reaches[i]) continue;
    if (std::string found = random_node_in(graph, graph.nodes[i]); !found.empty()) return found;
  }
  return "";
}

}  // namespace deepgap
