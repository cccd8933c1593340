#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

namespace deepgap {

namespace {

// Nodes that a value of unknown size connects, in order: each of these lists is to become one node.
std::vector<std::vector<size_t>> connected(const Graph& graph) {
  std::map<ValueId, size_t> list_of;  // value -> its list
  std::vector<std::vector<size_t>> lists;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<ValueId> open;
    for (const auto* ids : {&node.inputs, &node.outputs})
      for (const ValueId id : *ids)
        if (id != no_value && !is_known(graph, id)) open.push_back(id);
    if (open.empty()) continue;
    const size_t mine = lists.size();
    lists.push_back({});
    for (const ValueId id : open) {
      const auto found = list_of.find(id);
      if (found == list_of.end() || found->second == mine) continue;
      const size_t other = found->second;
      lists[mine].insert(lists[mine].end(), lists[other].begin(), lists[other].end());
      lists[other].clear();
      for (auto& [value, list] : list_of)
        if (list == other) list = mine;
    }
    std::ranges::sort(lists[mine]);
    lists[mine].push_back(i);
    for (const ValueId id : open) list_of[id] = mine;
  }
  std::erase_if(lists, [](const auto& list) { return list.empty(); });
  return lists;
}

// Returns whether something outside of the list stands between two of its nodes: then they cannot be one.
bool is_interrupted(const Graph& graph, const std::vector<size_t>& list) {
  const std::set<size_t> inside(list.begin(), list.end());
  std::set<ValueId> from_inside, passed_on;
  for (size_t i = list.front(); i <= list.back(); ++i) {
    const Node& node = graph.nodes[i];
    const auto reads = [&](const std::set<ValueId>& values) {
      return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return values.contains(id); });
    };
    if (inside.contains(i) && reads(passed_on)) return true;
    if (inside.contains(i)) from_inside.insert(node.outputs.begin(), node.outputs.end());
    if (!inside.contains(i) && (reads(from_inside) || reads(passed_on))) passed_on.insert(node.outputs.begin(), node.outputs.end());
  }
  return false;
}

// Values of the list that others read.
std::vector<ValueId> results_of(const Graph& graph, const std::vector<size_t>& list) {
  const std::set<size_t> inside(list.begin(), list.end());
  const auto readers = consumers(graph);
  std::vector<ValueId> results;
  for (const size_t i : list)
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id == no_value) continue;
      const auto& reading = readers[static_cast<size_t>(id)];
      const bool is_read = std::any_of(reading.begin(), reading.end(), [&](size_t reader) { return !inside.contains(reader); });
      if (is_read || is_graph_output(graph, id)) results.push_back(id);
    }
  return results;
}

Node region(const Graph& graph, const std::vector<size_t>& list, const std::vector<ValueId>& results) {
  auto body = std::make_shared<Graph>();
  body->opset = graph.opset;
  Node joined{.op = "Region", .domain = "deepgap"};
  std::map<ValueId, ValueId> inner;
  const auto import = [&](ValueId id) {
    if (id == no_value) return no_value;
    const auto [at, is_new] = inner.emplace(id, static_cast<ValueId>(body->values.size()));
    if (is_new) body->values.push_back(graph.values[static_cast<size_t>(id)]);
    return at->second;
  };
  for (const size_t i : list) {
    Node node = graph.nodes[i];
    for (ValueId& id : node.inputs) {
      if (id != no_value && !inner.contains(id)) {
        joined.inputs.push_back(id);
        body->inputs.push_back(import(id));
      }
      id = import(id);
    }
    for (ValueId& id : node.outputs) id = import(id);
    joined.name += (joined.name.empty() ? "" : "+") + node.name;
    body->nodes.push_back(std::move(node));
  }
  for (const ValueId id : results) body->outputs.push_back(import(id));
  joined.outputs = results;
  body->name = joined.name;
  joined.attributes["body"] = std::shared_ptr<const Graph>(std::move(body));
  return joined;
}

}  // namespace

void join_sized_by_data(Graph& graph) {
  std::vector<bool> erase(graph.nodes.size(), false);
  for (const std::vector<size_t>& list : connected(graph)) {
    const std::vector<ValueId> results = results_of(graph, list);
    const bool sized = std::all_of(results.begin(), results.end(), [&](ValueId id) { return is_known(graph, id); });
    if (!sized || is_interrupted(graph, list)) continue;  // stays as it is, to be refused by name
    Node joined = region(graph, list, results);
    for (const size_t i : list) erase[i] = true;
    erase[list.back()] = false;
    graph.nodes[list.back()] = std::move(joined);
  }
  erase_nodes(graph, erase);
  sort_nodes(graph);
}

}  // namespace deepgap
