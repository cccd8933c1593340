// The promise of graph.h: order, uniqueness, nothing dangling.
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace deepgap {
namespace {

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::input, cause); }

template <typename Work>
void for_each_subgraph(const Node& node, Work work) {
  for (const auto& [name, attribute] : node.attributes) {
    const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&attribute);
    if (subgraph != nullptr && *subgraph != nullptr) work(**subgraph);
  }
}

// Returns for each value whether inputs, constants or nodes of the graph itself make it.
std::vector<bool> made_values(const Graph& graph) {
  std::vector<bool> made(graph.values.size());
  for (const ValueId id : graph.inputs) made[id] = true;
  for (const auto& [id, tensor] : graph.constants) made[id] = true;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != no_value) made[id] = true;
    }
  }
  return made;
}

// The nodes that each node needs, by index; captured values of its subgraphs included.
class Needs {
 public:
  explicit Needs(const Graph& graph) : graph_(graph), producer_(graph.values.size(), -1) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : graph.nodes[i].outputs) {
        if (id != no_value) producer_[id] = static_cast<int64_t>(i);
      }
    }
  }
  template <typename Work>
  void for_each(size_t node, Work work) {
    for (const ValueId id : graph_.nodes[node].inputs) {
      if (id != no_value && producer_[id] >= 0) work(static_cast<size_t>(producer_[id]));
    }
    for_each_subgraph(graph_.nodes[node], [&](const Graph& subgraph) {
      for (const std::string& name : captured_names(subgraph)) {
        const auto found = ids().find(name);
        if (found != ids().end() && producer_[found->second] >= 0) work(static_cast<size_t>(producer_[found->second]));
      }
    });
  }

 private:
  const std::unordered_map<std::string_view, ValueId>& ids() {
    if (ids_.empty()) {
      for (size_t i = 0; i < graph_.values.size(); ++i) ids_.emplace(graph_.values[i].name, static_cast<ValueId>(i));
    }
    return ids_;
  }
  const Graph& graph_;
  std::vector<int64_t> producer_;
  std::unordered_map<std::string_view, ValueId> ids_;  // made when a subgraph asks
};

// Every node left over needs another one left over, so following needs must come back to a node seen before.
[[noreturn]] void fail_with_cycle(const Graph& graph, Needs& needs, const std::vector<size_t>& open_needs) {
  size_t at = 0;
  while (open_needs[at] == 0) ++at;
  std::vector<size_t> path;
  std::vector<int64_t> place(graph.nodes.size(), -1);
  while (place[at] < 0) {
    place[at] = static_cast<int64_t>(path.size());
    path.push_back(at);
    size_t next = at;
    needs.for_each(at, [&](size_t needed) {
      if (open_needs[needed] != 0) next = needed;
    });
    at = next;
  }
  std::string cycle;
  const auto first = static_cast<size_t>(place[at]);
  for (size_t i = path.size(); i > first && path.size() - i < 6; --i) cycle += fmt::format("'{}' -> ", graph.nodes[path[i - 1]].name);
  if (path.size() - first > 6) cycle += "... -> ";
  fail(fmt::format("the nodes form a cycle: {}'{}'", cycle, graph.nodes[path.back()].name));
}

void check_ids(const Graph& graph, const std::vector<ValueId>& ids, const std::string& who, bool optional) {
  for (const ValueId id : ids) {
    if (id == no_value && optional) continue;
    if (id < 0 || static_cast<size_t>(id) >= graph.values.size()) fail(fmt::format("{} refers to value {}, which does not exist", who, id));
  }
}

void check_names(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const Value& value : graph.values) {
    if (value.name.empty()) fail("a value without a name");
    if (!names.insert(value.name).second) fail(fmt::format("the name '{}' is given twice", value.name));
  }
  names.clear();
  for (const Node& node : graph.nodes) {
    if (node.name.empty()) fail(fmt::format("a {} node without a name", node.op));
    if (!names.insert(node.name).second) fail(fmt::format("two nodes are called '{}'", node.name));
  }
}

// The values that a subgraph may read: those that the graphs around it have made before its node.
class Scope {
 public:
  Scope(const Graph& graph, const std::vector<bool>& made, const Scope* outer) : graph_(graph), made_(made), outer_(outer) {}
  bool has(std::string_view name) const {
    if (ids_.empty()) {
      for (size_t i = 0; i < graph_.values.size(); ++i) ids_.emplace(graph_.values[i].name, i);
    }
    const auto found = ids_.find(name);
    return (found != ids_.end() && made_[found->second]) || (outer_ != nullptr && outer_->has(name));
  }

 private:
  const Graph& graph_;
  const std::vector<bool>& made_;
  const Scope* outer_;
  mutable std::unordered_map<std::string_view, size_t> ids_;
};

void validate_graph(const Graph& graph, const Scope* outer);

struct Progress {
  std::vector<bool> made, captured;
};

// Validates a node, and marks what it makes.
void validate_node(const Graph& graph, const Node& node, Progress& progress, const Scope& scope) {
  auto& [made, captured] = progress;
  const std::string who = fmt::format("node '{}'", node.name);
  check_ids(graph, node.inputs, who, true);
  check_ids(graph, node.outputs, who, true);
  for (const ValueId id : node.inputs) {
    if (id != no_value && !made[id] && !captured[id])
      fail(fmt::format("{} reads '{}', which nothing makes before", who, graph.values[id].name));
  }
  for_each_subgraph(node, [&](const Graph& subgraph) { validate_graph(subgraph, &scope); });
  for (const ValueId id : node.outputs) {
    if (id == no_value) continue;
    if (made[id] || captured[id]) fail(fmt::format("{} makes '{}', which is made elsewhere too", who, graph.values[id].name));
    made[id] = true;
  }
}

void check_constants(const Graph& graph) {
  for (const auto& [id, tensor] : graph.constants) {
    check_ids(graph, {id}, "a constant", false);
    const Value& value = graph.values[id];
    Dims dims;
    for (const int64_t size : tensor.shape) dims.push_back({size, ""});
    if (value.type != tensor.type || value.dims != dims)
      fail(fmt::format("constant '{}' differs from its value in type or shape", value.name));
  }
}

void validate_graph(const Graph& graph, const Scope* outer) {
  check_names(graph);
  check_ids(graph, graph.inputs, "an input", false);
  check_ids(graph, graph.outputs, "an output", false);
  check_constants(graph);
  for (const Node& node : graph.nodes) check_ids(graph, node.outputs, fmt::format("node '{}'", node.name), true);
  Progress progress{std::vector<bool>(graph.values.size()), std::vector<bool>(graph.values.size())};
  auto& [made, captured] = progress;
  for (const auto& [id, tensor] : graph.constants) made[id] = true;
  for (const ValueId id : graph.inputs) {
    if (made[id]) fail(fmt::format("input '{}' is a constant too, or given twice", graph.values[id].name));
    made[id] = true;
  }
  if (outer != nullptr) {
    const std::vector<bool> made_here = made_values(graph);
    for (size_t i = 0; i < graph.values.size(); ++i) captured[i] = !made_here[i] && outer->has(graph.values[i].name);
  }
  const Scope scope(graph, made, outer);
  for (const Node& node : graph.nodes) validate_node(graph, node, progress, scope);
  for (const ValueId id : graph.outputs) {
    if (!made[id] && !captured[id]) fail(fmt::format("nothing makes output '{}'", graph.values[id].name));
  }
}

}  // namespace

std::vector<std::optional<size_t>> producers(const Graph& graph) {
  std::vector<std::optional<size_t>> makers(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (const ValueId id : graph.nodes[i].outputs)
      if (id != no_value) makers[static_cast<size_t>(id)] = i;
  return makers;
}

bool is_known(const Graph& graph, ValueId id) {
  const auto& dims = graph.values[static_cast<size_t>(id)].dims;
  return dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known(); });
}

std::vector<std::vector<size_t>> consumers(const Graph& graph) {
  std::vector<std::vector<size_t>> readers(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : graph.nodes[i].inputs) {
      if (id != no_value && (readers[id].empty() || readers[id].back() != i)) readers[id].push_back(i);
    }
  }
  return readers;
}

std::set<std::string> captured_names(const Graph& graph) {
  const std::vector<bool> made = made_values(graph);
  std::set<std::string> captured;
  std::unordered_set<std::string_view> own;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (made[i])
      own.insert(graph.values[i].name);
    else
      captured.insert(graph.values[i].name);
  }
  for (const Node& node : graph.nodes) {
    for_each_subgraph(node, [&](const Graph& subgraph) {
      for (const std::string& name : captured_names(subgraph)) {
        if (own.count(name) == 0) captured.insert(name);
      }
    });
  }
  return captured;
}

void sort_nodes(Graph& graph) {
  Needs needs(graph);
  std::vector<size_t> open_needs(graph.nodes.size());
  std::vector<std::vector<size_t>> readers(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    needs.for_each(i, [&](size_t needed) {
      ++open_needs[i];
      readers[needed].push_back(i);
    });
  }
  // The first ready one in the given order next, so that an order that is right stays.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (open_needs[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const size_t reader : readers[node]) {
      if (--open_needs[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() != graph.nodes.size()) fail_with_cycle(graph, needs, open_needs);
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (const size_t node : order) sorted.push_back(std::move(graph.nodes[node]));
  graph.nodes = std::move(sorted);
}

void validate(const Graph& graph) { validate_graph(graph, nullptr); }

}  // namespace deepgap
