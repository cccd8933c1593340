#include "backends/tensorflow/tf_operator.h"

#include "model/graph_tools.h"
#include "model/translated_nodes.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

std::map<std::string, TfOperator>& table() {
  static std::map<std::string, TfOperator> operators;
  return operators;
}

}  // namespace

bool add_tf_operator(const char* name, TfOperator function) { return table().emplace(name, function).second; }

std::string tf_operator_refusal(const GraphSummary& graph) {
  for (const OperatorUse& use : graph.operators) {
    if (use.domain.empty() && (table().contains(use.op) || may_be_folded(use.op))) continue;
    return fmt::format("operator {}{}{} has no translation to TensorFlow (node '{}')", use.domain, use.domain.empty() ? "" : ".", use.op,
                       use.first_node);
  }
  return {};
}

void make_tf_operations(const TfCall& call) {
  const auto found = call.node.domain.empty() ? table().find(call.node.op) : table().end();
  if (found == table().end())
    throw Error(ErrorKind::refused,
                fmt::format("tensorflow: operator {} has no translation (node '{}')", call.operator_name(), call.node.name));
  found->second(call);
}

int64_t TfLayout::axis(int64_t plain) const {
  if (!last || plain == 0) return plain;
  return plain == 1 ? static_cast<int64_t>(rank) - 1 : plain - 1;
}

std::vector<int64_t> TfLayout::axes(std::vector<int64_t> plain) const {
  for (int64_t& one : plain) one = axis(one);
  return plain;
}

std::vector<int64_t> TfLayout::each(const std::vector<int64_t>& plain) const {
  std::vector<int64_t> made(plain.size());
  for (size_t i = 0; i < plain.size(); ++i) made[static_cast<size_t>(axis(static_cast<int64_t>(i)))] = plain[i];
  return made;
}

void TfCall::out(size_t output, TfOutput value) const {
  if (output < node.outputs.size() && node.outputs[output] != no_value) values.set_plain(node.outputs[output], value);
}

void TfCall::out_last(size_t output, TfOutput value) const {
  if (output < node.outputs.size() && node.outputs[output] != no_value) values.set_channels_last(node.outputs[output], value);
}

TfLayout TfCall::layout(size_t input) const {
  if (!values.is_channels_last(node.inputs[input])) return {};
  return {true, shape(input).size()};
}

TfLayout TfCall::aligned() const {
  const auto& dims = graph.values[static_cast<size_t>(node.outputs[0])].dims;
  if (!dims || dims->size() < 3) return {};
  TfLayout layout{false, dims->size()};
  for (const ValueId id : node.inputs) {
    if (id == no_value) continue;
    if (!is_known(graph, id)) return {};
    if (values.is_channels_last(id) && known_shape(graph, id).size() == layout.rank) layout.last = true;
  }
  return layout.last ? layout : TfLayout{};
}

TfOutput TfCall::in_aligned(size_t input, const TfLayout& layout) const {
  if (!layout.last) return in(input);
  Shape whole = shape(input);
  if (whole.size() == layout.rank) return in_last(input);
  if (element_count(whole) == 1) return scope.reshape(in(input), {});
  whole.insert(whole.begin(), layout.rank - whole.size(), 1);
  return scope.transpose(scope.reshape(in(input), whole), channels_last_order(layout.rank));
}

void tf_elementwise(const TfCall& call, TfUnary function) {
  const TfLayout layout = call.layout();
  call.out(0, function(call.scope, call.in(0, layout)), layout);
}

void tf_elementwise(const TfCall& call, TfBinary function) {
  const TfLayout layout = call.aligned();
  TfOutput y = call.in_aligned(0, layout);
  for (size_t i = 1; i < call.node.inputs.size(); ++i) y = function(call.scope, y, call.in_aligned(i, layout));
  call.out(0, y, layout);
}

}  // namespace deepgap
