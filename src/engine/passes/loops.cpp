#include "engine/passes/loops.h"

#include "engine/passes/edit.h"
#include "model/graph_tools.h"
#include "model/node_body.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

namespace deepgap {
namespace {

constexpr size_t before_carried = 2;  // the number of iterations, or its limit, and the condition

std::map<std::string, ValueId> by_name(const Graph& graph) {
  std::map<std::string, ValueId> ids;
  for (size_t id = 0; id < graph.values.size(); ++id) ids.emplace(graph.values[id].name, static_cast<ValueId>(id));
  return ids;
}

// Returns false, with `node` in pieces, where a value is not there that the body reads.
bool take_in(const Graph& around, const std::map<std::string, ValueId>& outer, Graph& body, Node& node) {
  const auto inner = by_name(body);
  for (const std::string& name : captured_names(body)) {
    const auto found = outer.find(name);
    if (found == outer.end()) return false;
    const ValueId id = inner.at(name);
    const Value& value = around.values[static_cast<size_t>(found->second)];
    body.values[static_cast<size_t>(id)].type = value.type;
    body.values[static_cast<size_t>(id)].dims = value.dims;
    if (const Tensor* constant = constant_of(around, found->second)) {
      body.constants[id] = *constant;
    } else {
      body.inputs.push_back(id);
      node.inputs.push_back(found->second);
    }
  }
  return true;
}

bool sizes_known(const Graph& graph) {
  const auto known = [&](ValueId id) { return is_known(graph, id); };
  return std::ranges::all_of(graph.inputs, known) && std::ranges::all_of(graph.outputs, known) &&
         std::ranges::all_of(graph.nodes, [&](const Node& node) { return has_known_shapes(graph, node); });
}

// The body with the sizes of what the node reads, from which all others follow.
Graph bound_body(const Graph& around, const Node& node) {
  Graph body = loop_body(node);
  for (size_t id = 0; id < body.values.size(); ++id)
    if (constant_of(body, static_cast<ValueId>(id)) == nullptr) body.values[id].dims.reset();
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    auto& dims = body.values[static_cast<size_t>(body.inputs[i])].dims;
    dims = i < before_carried ? Dims{} : around.values[static_cast<size_t>(node.inputs[i])].dims;
  }
  infer_shapes(body);
  return body;
}

}  // namespace

bool is_closed_loop(const Node& node) { return node.domain == "deepgap" && node.op == "Loop"; }

const Graph& loop_body(const Node& closed) { return body_of(closed, "body"); }

size_t carried_by(const Node& closed) { return loop_body(closed).outputs.size() - 1; }

void close_loops(Graph& graph) {
  const auto outer = by_name(graph);
  for (Node& node : graph.nodes) {
    if (!is_onnx_op(node, "Loop") || node.inputs.size() < before_carried) continue;
    Graph body = loop_body(node);
    const size_t carried = node.inputs.size() - before_carried;
    const bool complete = std::none_of(node.inputs.begin() + before_carried, node.inputs.end(), [](ValueId id) { return id == no_value; });
    if (!complete || body.inputs.size() != node.inputs.size() || body.outputs.size() != carried + 1 ||
        std::ranges::any_of(body.nodes, has_body))
      continue;
    Node closed = node;
    closed.domain = "deepgap";
    if (!take_in(graph, outer, body, closed)) continue;
    closed.attributes["body"] = std::make_shared<const Graph>(std::move(body));
    node = std::move(closed);
  }
}

void bind_loops(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!is_closed_loop(node)) continue;
    const bool known = std::ranges::all_of(node.inputs, [&](ValueId id) { return id == no_value || is_known(graph, id); });
    if (!known) continue;
    node.attributes["body"] = std::make_shared<const Graph>(bound_body(graph, node));
    if (!keeps_sizes(node)) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == no_value) continue;
      const Value& carried = graph.values[static_cast<size_t>(node.inputs[before_carried + i])];
      Value& result = graph.values[static_cast<size_t>(node.outputs[i])];
      result.type = carried.type;
      result.dims = carried.dims;
    }
    infer_shapes(graph);  // readers of the results have sizes now
  }
}

bool keeps_sizes(const Node& closed) {
  const Graph& body = loop_body(closed);
  if (!sizes_known(body)) return false;
  if (element_count(known_shape(body, body.outputs[0])) != 1) return false;
  for (size_t i = 0; i < carried_by(closed); ++i) {
    const ValueId before = body.inputs[before_carried + i], after = body.outputs[1 + i];
    if (known_shape(body, before) != known_shape(body, after)) return false;
    if (body.values[static_cast<size_t>(before)].type != body.values[static_cast<size_t>(after)].type) return false;
  }
  return true;
}

}  // namespace deepgap
