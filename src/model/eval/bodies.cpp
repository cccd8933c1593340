#include "model/eval/bodies.h"
#include "model/node_body.h"

#include "model/control_flow.h"
#include "model/eval/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

template <typename T>
T scalar_of(const Node& node, const Tensor& tensor, DataType type) {
  if (tensor.type != type || !tensor.data || element_count(tensor.shape) != 1)
    fail_node(node, fmt::format("one {} is expected", name_of(type)));
  T value;
  std::memcpy(&value, tensor.data.get(), sizeof(value));  // the bytes may be unaligned
  return value;
}

template <typename T>
Tensor scalar(DataType type, T value) {
  Tensor tensor = make_tensor(type, {});
  writable<T>(tensor)[0] = value;
  return tensor;
}

std::vector<Tensor> run_if(const Node& node, std::span<const Tensor> inputs, const RunBody& run) {
  if (inputs.size() != 1) fail_node(node, fmt::format("it has {} inputs instead of one condition", inputs.size()));
  const bool condition = scalar_of<uint8_t>(node, inputs[0], DataType::boolean) != 0;
  return run(body_of(node, condition ? "then_branch" : "else_branch"), {});
}

// Stacks what every iteration gave along a new first axis.
Tensor stacked(const Node& node, const std::vector<Tensor>& parts, const Value& like) {
  if (parts.empty()) {
    Shape shape{0};
    for (const Dim& dim : like.dims.value_or(Dims{})) shape.push_back(dim.known() ? dim.size : 0);
    return make_tensor(like.type, std::move(shape));
  }
  Shape shape = parts[0].shape;
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  Tensor all = make_tensor(parts[0].type, std::move(shape));
  std::byte* to = writable<std::byte>(all).data();
  for (const Tensor& part : parts) {
    if (part.type != parts[0].type || part.shape != parts[0].shape) fail_node(node, "what its iterations give differs in type or shape");
    if (part.bytes() > 0) std::memcpy(to, part.data.get(), part.bytes());
    to += part.bytes();
  }
  return all;
}

std::vector<Tensor> run_loop(const Node& node, std::span<const Tensor> inputs, const RunBody& run) {
  const Graph& body = body_of(node, "body");
  const auto given = [&](size_t i) { return i < inputs.size() && inputs[i].data != nullptr; };
  const size_t carried = inputs.size() < 2 ? 0 : inputs.size() - 2;
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1)
    fail_node(node,
              fmt::format("it carries {} values, its body has {} inputs and {} outputs", carried, body.inputs.size(), body.outputs.size()));
  const int64_t most = given(0) ? scalar_of<int64_t>(node, inputs[0], DataType::i64) : INT64_MAX;
  bool goes_on = !given(1) || scalar_of<uint8_t>(node, inputs[1], DataType::boolean) != 0;
  std::vector<Tensor> state(inputs.end() - static_cast<std::ptrdiff_t>(carried), inputs.end());
  std::vector<std::vector<Tensor>> scanned(body.outputs.size() - 1 - carried);
  for (int64_t i = 0; goes_on && i < most; ++i) {
    if (i == most_iterations) fail_node(node, fmt::format("it has not ended after {} iterations", most_iterations));
    std::vector<Tensor> arguments{scalar<int64_t>(DataType::i64, i), scalar<uint8_t>(DataType::boolean, 1)};
    arguments.insert(arguments.end(), state.begin(), state.end());
    const std::vector<Tensor> results = run(body, arguments);
    goes_on = scalar_of<uint8_t>(node, results[0], DataType::boolean) != 0;
    std::copy_n(results.begin() + 1, carried, state.begin());
    for (size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(results[1 + carried + k]);
  }
  for (size_t k = 0; k < scanned.size(); ++k)
    state.push_back(stacked(node, scanned[k], body.values[static_cast<size_t>(body.outputs[1 + carried + k])]));
  return state;
}

}  // namespace

std::vector<Tensor> run_bodies(const Node& node, std::span<const Tensor> inputs, const RunBody& run) {
  return node.op == "If" ? run_if(node, inputs, run) : run_loop(node, inputs, run);
}

}  // namespace deepgap
