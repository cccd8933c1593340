// Operators whose inputs are all constants: an engine computes them when it loads, with every output that a node may have, and without
// each input that it may lack.
#include "operator_cases.h"
#include "rig.h"

#include "model/graph_tools.h"
#include "model/operator_arity.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap::conformance {
namespace {

ValueId add_value(Graph& graph, const std::string& name, std::optional<Dims> dims) {
  graph.values.push_back({name, DataType::f32, std::move(dims)});
  return static_cast<ValueId>(graph.values.size() - 1);
}

Graph with_constants_only(const OperatorCase& one) {
  Random random(seed_of(one.op, 0));
  GraphBuilder net(random, one.opset);
  Graph graph = bind_symbols(one.build(net), {{batch_symbol, 1}});
  const std::vector<Tensor> sample = random_samples(random, graph, 1).at(0);
  for (size_t i = 0; i < graph.inputs.size(); ++i) graph.constants[graph.inputs[i]] = sample[i];
  const ValueId varying = add_value(graph, "varying", Dims{{1, batch_symbol}, {2, ""}}), result = add_value(graph, "varied", std::nullopt);
  graph.inputs = {varying};
  graph.outputs.push_back(result);
  graph.nodes.push_back({"beside", "Relu", "", {varying}, {result}, {}});
  return graph;
}

// Fewer outputs: those that are cut off nothing may read. False where something does.
bool cut_outputs(Graph& graph, Node& node, size_t count) {
  while (node.outputs.size() > count) {
    const ValueId gone = node.outputs.back();
    node.outputs.pop_back();
    std::erase(graph.outputs, gone);
    for (const Node& other : graph.nodes)
      if (gone != no_value && std::find(other.inputs.begin(), other.inputs.end(), gone) != other.inputs.end()) return false;
  }
  return true;
}

void add_outputs(Graph& graph, size_t node, size_t count) {
  while (graph.nodes[node].outputs.size() < count) {
    const ValueId made = add_value(graph, fmt::format("more{}", graph.nodes[node].outputs.size()), std::nullopt);
    graph.nodes[node].outputs.push_back(made);
    graph.outputs.push_back(made);
  }
}

// Where the last inputs are left out the list ends before them.
void leave_out_input(Node& node, size_t input) {
  node.inputs[input] = no_value;
  while (!node.inputs.empty() && node.inputs.back() == no_value) node.inputs.pop_back();
}

// Each optional input left out alone, and all from one on.
std::vector<Graph> without_optional_inputs(const Graph& given, size_t at, std::string_view inputs) {
  std::vector<Graph> variants;
  const size_t count = std::min(given.nodes[at].inputs.size(), inputs.size());
  for (size_t first = 0; first < count; ++first) {
    if (inputs[first] != '?') continue;
    Graph alone = given, rest = given;
    leave_out_input(alone.nodes[at], first);
    variants.push_back(std::move(alone));
    for (size_t input = first; input < count; ++input)
      if (inputs[input] == '?') rest.nodes[at].inputs[input] = no_value;
    leave_out_input(rest.nodes[at], first);
    if (first + 1 < count) variants.push_back(std::move(rest));
  }
  return variants;
}

}  // namespace

std::vector<Graph> constant_variants(const OperatorCase& one) {
  const Graph given = with_constants_only(one);
  std::vector<Graph> variants;
  const auto keep = [&](Graph graph) {
    try {
      infer_shapes(graph);
      validate(graph);
      variants.push_back(std::move(graph));
    } catch (const Error&) {
    }  // a network that has not this many outputs
  };
  const auto node = std::find_if(given.nodes.begin(), given.nodes.end(), [&](const Node& tried) { return tried.op == operator_of(one); });
  const auto arity = node == given.nodes.end() ? std::nullopt : arity_of(node->op, given.opset);
  if (!arity) {
    keep(given);
    return variants;
  }
  const auto at = static_cast<size_t>(node - given.nodes.begin());
  const size_t least = std::max<size_t>(1, arity->outputs.find_last_of("x+") + 1),
               most = std::max(arity->outputs.size(), node->outputs.size());
  for (size_t count = least; count <= most; ++count) {
    Graph graph = given;
    if (!cut_outputs(graph, graph.nodes[at], count)) continue;
    add_outputs(graph, at, count);
    keep(graph);
    if (count < 3 || arity->outputs[count - 2] != '?') continue;
    std::erase(graph.outputs, graph.nodes[at].outputs[count - 2]);
    graph.nodes[at].outputs[count - 2] = no_value;
    keep(std::move(graph));
  }
  for (Graph& graph : without_optional_inputs(given, at, arity->inputs)) keep(std::move(graph));
  return variants;
}

}  // namespace deepgap::conformance
