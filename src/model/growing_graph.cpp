#include "model/growing_graph.h"

#include "model/graph_tools.h"
#include "model/node_body.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

namespace deepgap {
namespace {

using Names = std::unordered_map<std::string, std::string>;

// The body reads values of the graphs around it by their names, which are others now.
std::shared_ptr<const Graph> with_outer_names(const Graph& body, const Names& names) {
  const std::set<std::string> captured = captured_names(body);
  auto renamed = std::make_shared<Graph>(body);
  for (Value& value : renamed->values) {
    const auto found = names.find(value.name);
    if (found != names.end() && captured.contains(value.name)) value.name = found->second;
  }
  for (Node& node : renamed->nodes)
    for (auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) attribute = with_outer_names(**inner, names);
  return renamed;
}

}  // namespace

GrowingGraph::GrowingGraph(Graph graph, size_t most_work) : graph_(std::move(graph)), most_work_(most_work) {
  for (size_t i = 0; i < graph_.values.size(); ++i) ids_.emplace(graph_.values[i].name, static_cast<ValueId>(i));
  for (const Node& node : graph_.nodes) node_names_.insert(node.name);
}

void GrowingGraph::work(size_t steps) {
  work_ += steps;
  if (work_ > most_work_)
    throw Error(ErrorKind::input, fmt::format("the Loops, Scans and Ifs of the file take more work than {} steps to unroll", most_work_));
}

std::string GrowingGraph::unused_name(const std::string& wanted) const {
  std::string name = wanted;
  for (int copy = 2; ids_.contains(name) || node_names_.contains(name); ++copy) name = fmt::format("{}#{}", wanted, copy);
  return name;
}

ValueId GrowingGraph::add_value(const std::string& wanted, const Value& like) {
  const auto id = static_cast<ValueId>(graph_.values.size());
  Value value{unused_name(wanted), like.type, like.dims};
  // An open size inside of a body has a name that nothing binds.
  if (value.dims && std::any_of(value.dims->begin(), value.dims->end(), [](const Dim& dim) { return !dim.known(); })) value.dims.reset();
  ids_.emplace(value.name, id);
  graph_.values.push_back(std::move(value));
  return id;
}

ValueId GrowingGraph::add_constant(const std::string& wanted, Tensor tensor) {
  Dims dims;
  for (const int64_t size : tensor.shape) dims.push_back({size, ""});
  const ValueId id = add_value(wanted, {"", tensor.type, dims});
  graph_.constants.emplace(id, std::move(tensor));
  return id;
}

void GrowingGraph::add_node(const std::string& op, std::vector<ValueId> inputs, ValueId output,
                            std::map<std::string, Attribute> attributes) {
  const std::string name = unused_name(graph_.values[static_cast<size_t>(output)].name + "/" + op);
  node_names_.insert(name);
  graph_.nodes.push_back({name, op, "", std::move(inputs), {output}, std::move(attributes)});
}

std::vector<ValueId> GrowingGraph::append(const Graph& body, const std::vector<ValueId>& arguments, const std::string& prefix,
                                          const Node& owner) {
  work(body.nodes.size() + body.values.size());
  std::vector<ValueId> here(body.values.size(), no_value);
  for (size_t i = 0; i < arguments.size(); ++i) here[static_cast<size_t>(body.inputs[i])] = arguments[i];
  for (const auto& [id, tensor] : body.constants)
    here[static_cast<size_t>(id)] = add_constant(prefix + body.values[static_cast<size_t>(id)].name, tensor);
  for (const Node& node : body.nodes)
    for (const ValueId id : node.outputs)
      if (id != no_value)
        here[static_cast<size_t>(id)] = add_value(prefix + body.values[static_cast<size_t>(id)].name, body.values[static_cast<size_t>(id)]);
  Names names;
  for (size_t i = 0; i < here.size(); ++i) {
    if (here[i] == no_value) here[i] = outer_value(body.values[i].name, owner);
    names[body.values[i].name] = graph_.values[static_cast<size_t>(here[i])].name;
  }
  for (Node node : body.nodes) {
    node.name = unused_name(prefix + node.name);
    node_names_.insert(node.name);
    for (auto* ids : {&node.inputs, &node.outputs})
      for (ValueId& id : *ids)
        if (id != no_value) id = here[static_cast<size_t>(id)];
    for (auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) attribute = with_outer_names(**inner, names);
    graph_.nodes.push_back(std::move(node));
  }
  std::vector<ValueId> outputs;
  for (const ValueId id : body.outputs) outputs.push_back(here[static_cast<size_t>(id)]);
  return outputs;
}

ValueId GrowingGraph::outer_value(const std::string& name, const Node& owner) const {
  const auto found = ids_.find(name);
  if (found == ids_.end()) fail_node(owner, fmt::format("its body reads '{}', which nothing makes", name));
  return found->second;
}

void GrowingGraph::name_outputs(const std::vector<ValueId>& from, const Node& node) {
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != no_value) add_node("Identity", {from[i]}, node.outputs[i]);
}

std::vector<Node> GrowingGraph::set_aside() { return std::exchange(graph_.nodes, {}); }

void GrowingGraph::put_back(std::vector<Node>& nodes, size_t begin, size_t end) {
  const auto at = [&](size_t i) { return std::make_move_iterator(nodes.begin() + static_cast<std::ptrdiff_t>(i)); };
  graph_.nodes.insert(graph_.nodes.end(), at(begin), at(end));
}

void GrowingGraph::forget_values_from(size_t first) {
  for (size_t i = first; i < graph_.values.size(); ++i) ids_.erase(graph_.values[i].name);
  graph_.values.resize(first);
  graph_.constants.erase(graph_.constants.lower_bound(static_cast<ValueId>(first)), graph_.constants.end());
}

}  // namespace deepgap
