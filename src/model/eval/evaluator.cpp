#include "model/eval/evaluator.h"

#include "model/checked.h"
#include "model/eval/bodies.h"
#include "model/eval/operator.h"
#include "model/graph_tools.h"
#include "model/onnx_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <numeric>

namespace deepgap {

namespace {

std::map<std::string, Operator>& operators() {
  static std::map<std::string, Operator> table;
  return table;
}

// Contents that alias a file may lie at any address; operators read them as numbers.
Tensor aligned(const Tensor& tensor) {
  if (!tensor.data || reinterpret_cast<uintptr_t>(tensor.data.get()) % byte_size(tensor.type) == 0) return tensor;
  Tensor copy = make_tensor(tensor.type, tensor.shape);
  std::memcpy(writable<std::byte>(copy).data(), tensor.data.get(), tensor.bytes());
  return copy;
}

// Per node: the values that its bodies read, by name. Empty where no node has a body.
using Captured = std::map<size_t, std::map<std::string, ValueId>>;

Captured captured_by(const Graph& graph) {
  Captured captured;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (const auto& [name, attribute] : graph.nodes[i].attributes)
      if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
        for (const std::string& read : captured_names(**body)) captured[i].emplace(read, no_value);
  if (captured.empty()) return captured;
  for (size_t id = 0; id < graph.values.size(); ++id)
    for (auto& [node, names] : captured)
      if (const auto found = names.find(graph.values[id].name); found != names.end()) found->second = static_cast<ValueId>(id);
  return captured;
}

std::vector<size_t> last_uses(const Graph& graph, const Captured& captured) {
  std::vector<size_t> last(graph.values.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].inputs)
      if (id != no_value) last[id] = i;
    if (const auto found = captured.find(i); found != captured.end())
      for (const auto& [name, id] : found->second)
        if (id != no_value) last[id] = i;
  }
  for (ValueId id : graph.outputs) last[id] = graph.nodes.size();
  return last;
}

std::vector<Tensor> initial_values(const Graph& graph, std::span<const Tensor> inputs, const Observer& observer) {
  if (inputs.size() != graph.inputs.size())
    throw Error(ErrorKind::input, fmt::format("'{}' has {} inputs, {} were given", graph.name, graph.inputs.size(), inputs.size()));
  std::vector<Tensor> values(graph.values.size());
  for (const auto& [id, tensor] : graph.constants) values[id] = tensor;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs[i]] = inputs[i];
    if (observer) observer(graph.inputs[i], inputs[i]);
  }
  return values;
}

// The values that a body may read from the graphs around it.
using Scope = std::map<std::string, Tensor>;

void add_scope(const Graph& graph, const Scope& scope, std::vector<Tensor>& values) {
  for (size_t id = 0; id < values.size() && !scope.empty(); ++id)
    if (const auto found = scope.find(graph.values[id].name); found != scope.end() && !values[id].data) values[id] = found->second;
}

// Nodes of all bodies together, each as often as it runs: a Loop's own limit multiplies with that of the Loops in it.
constexpr size_t most_body_nodes = 10'000'000;

std::vector<Tensor> evaluate_in(const Graph& graph, std::span<const Tensor> inputs, const Observer& observer, const Scope& around,
                                size_t& body_nodes);

// `scope`: what the bodies may read besides what they are given.
std::vector<Tensor> evaluate_bodies(const Node& node, const std::vector<Tensor>& arguments, const Scope& scope, size_t& body_nodes) {
  return run_bodies(node, arguments, [&](const Graph& body, std::span<const Tensor> given) {
    body_nodes += body.nodes.size() + 1;
    if (body_nodes > most_body_nodes) {
      throw Error(ErrorKind::input,
                  fmt::format("node '{}' ({}): it runs more than {} nodes of bodies", node.name, node.op, most_body_nodes));
    }
    return evaluate_in(body, given, {}, scope, body_nodes);
  });
}

std::vector<Tensor> evaluate_in(const Graph& graph, std::span<const Tensor> inputs, const Observer& observer, const Scope& around,
                                size_t& body_nodes) {
  std::vector<Tensor> values = initial_values(graph, inputs, observer);
  add_scope(graph, around, values);
  const Captured captured = captured_by(graph);
  const std::vector<size_t> last = last_uses(graph, captured);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<Tensor> arguments;
    for (ValueId id : node.inputs) arguments.push_back(id == no_value ? Tensor{} : values[id]);
    std::vector<Tensor> results;
    if (evaluates_bodies(node)) {
      Scope scope = around;
      if (const auto found = captured.find(i); found != captured.end())
        for (const auto& [name, id] : found->second)
          if (id != no_value) scope[name] = values[id];
      results = evaluate_bodies(node, arguments, scope, body_nodes);
    } else {
      results = evaluate_node(graph, node, arguments);
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == no_value) continue;
      if (k >= results.size() || results[k].data == nullptr)
        throw Error(ErrorKind::refused,
                    fmt::format("node '{}' ({}): the reference interpreter does not compute output {}", node.name, node.op, k));
      if (observer) observer(node.outputs[k], results[k]);
      if (last[node.outputs[k]] > i) values[node.outputs[k]] = std::move(results[k]);
    }
    for (ValueId id : node.inputs)
      if (id != no_value && last[id] == i) values[id] = {};
  }
  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(values[id]);
  return outputs;
}

}  // namespace

bool evaluates_bodies(const Node& node) { return node.domain.empty() && (node.op == "If" || node.op == "Loop"); }

bool add_operator(const char* name, Operator function) { return operators().emplace(name, function).second; }

std::vector<std::string> evaluated_operators() {
  std::vector<std::string> names;
  for (const auto& [name, function] : operators()) names.push_back(name);
  return names;
}

std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs) {
  const auto found = operators().find(node.op);
  if (found == operators().end() || !(node.domain.empty() || node.domain == "ai.onnx"))
    throw Error(ErrorKind::refused, fmt::format("node '{}': the reference interpreter has no operator {}{}{}", node.name, node.domain,
                                                node.domain.empty() ? "" : ".", node.op));
  std::vector<Tensor> ready;
  ready.reserve(inputs.size());
  for (const Tensor& tensor : inputs) ready.push_back(aligned(tensor));
  return found->second(Call(graph, node, ready));
}

std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs, const Observer& observer) {
  size_t body_nodes = 0;
  return evaluate_in(graph, inputs, observer, {}, body_nodes);
}

const Tensor& Call::input(size_t index) const {
  if (!has(index)) fail(fmt::format("input {} is missing or has no content", index));
  return inputs[index];
}

float Call::float_of(std::string_view name, float fallback) const { return attribute_float(node, name, fallback); }

void Call::expect(const Tensor& tensor, DataType type) const {
  if (tensor.type != type) refuse(fmt::format("{} is not handled here, only {}", name_of(tensor.type), name_of(type)));
}

void Call::expect_possible(std::span<const int64_t> shape) const {
  if (!checked_elements(shape, OnnxLimits{}.max_elements)) fail("the result would have more elements than can be");
}

Tensor copy_with_shape(const Tensor& tensor, Shape shape) { return {tensor.type, std::move(shape), tensor.data}; }

int64_t product_of(std::span<const int64_t> sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

std::vector<int64_t> row_major_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace deepgap
