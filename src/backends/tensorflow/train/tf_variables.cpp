#include "backends/tensorflow/train/tf_variables.h"

#include "model/eval/fold_constants.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

// Converts one order of dimensions to another that is read from it: order `to` is `from` and then the result.
std::vector<int64_t> between(const std::vector<int64_t>& from, const std::vector<int64_t>& to, size_t rank) {
  const auto place = [&](const std::vector<int64_t>& order, size_t i) { return order.empty() ? static_cast<int64_t>(i) : order[i]; };
  std::vector<int64_t> result(rank);
  for (size_t i = 0; i < rank; ++i)
    for (size_t j = 0; j < rank; ++j)
      if (place(from, j) == place(to, i)) result[i] = static_cast<int64_t>(j);
  return result;
}

Tensor in_order(const Tensor& tensor, const std::vector<int64_t>& order) { return order.empty() ? tensor : permuted(tensor, order); }

}  // namespace

TfOutput make_tf_variable(TfScope& scope, const std::string& name, const Shape& shape) {
  return scope.make("VarHandleOp").type("dtype", TfType::f32).shape("shape", shape).text("shared_name", name).out();
}

TfOutput read_tf_variable(TfScope& scope, TfOutput handle) {
  return scope.make("ReadVariableOp").in(handle).type("dtype", TfType::f32).out();
}

TfVariables::TfVariables(const Graph& graph, TfScope& scope) : graph_(graph), scope_(scope) {
  for (const ValueId id : trainable_constants(graph)) {
    const Value& value = graph.values[static_cast<size_t>(id)];
    if (value.type != DataType::f32)
      throw Error(ErrorKind::refused, fmt::format("tensorflow: trains float32 weights; '{}' is {}", value.name, name_of(value.type)));
    trained_.insert(id);
    changing_[value.name] = id;
  }
  for (const Node& node : graph.nodes)
    for (size_t i = 3; node.op == "BatchNormalization" && i < node.inputs.size(); ++i)
      changing_[graph.values[static_cast<size_t>(node.inputs[i])].name] = node.inputs[i];
}

void TfVariables::fold(Graph& bound) const {
  for (const ValueId id : trained_) bound.constants.at(id).data.reset();
  fold_constants(bound);
  for (const ValueId id : trained_) bound.constants.at(id).data = graph_.constants.at(id).data;
}

TfOutput TfVariables::of(TfScope& scope, const std::string& name, const Tensor& tensor, const std::vector<int64_t>& order) {
  if (!changing_.contains(name)) return TfConstants::of(scope, name, tensor, order);
  const Variable& variable = made_in(name, order);
  if (variable.order == order) return variable.read;
  TfOutput& made = reordered_[{name, order}];
  if (!made) made = scope_.transpose(variable.read, between(variable.order, order, tensor.shape.size()));
  return made;
}

TfVariables::Variable& TfVariables::made_in(const std::string& name, const std::vector<int64_t>& order) {
  Variable& variable = made_[name];
  if (variable.at_load != nullptr) return variable;
  const ValueId id = changing_.at(name);
  const Tensor& constant = graph_.constants.at(id);
  variable = {.at_load = &constant, .order = order, .shape = constant.shape, .is_weight = trained_.contains(id)};
  for (size_t i = 0; i < order.size(); ++i) variable.shape[i] = constant.shape[static_cast<size_t>(order[i])];
  variable.handle = make_tf_variable(scope_, name, variable.shape);
  variable.read = read_tf_variable(scope_, variable.handle);
  variable.given = scope_.make("Placeholder").type("dtype", TfType::f32).shape("shape", variable.shape).out();
  variable.set = scope_.make("AssignVariableOp").in(variable.handle).in(variable.given).out();
  return variable;
}

void TfVariables::replace(TfScope& scope, const std::string& name, TfOutput value) {
  replacements_.push_back(scope.make("AssignVariableOp").in(made_in(name, {}).handle).in(value).out());
}

void TfVariables::reset(const TfSession& session) const {
  TfSession::Fetches fetches;
  std::vector<TfTensor> values;
  for (const auto& [name, variable] : made_) {
    fetches.inputs.push_back(variable.given);
    fetches.targets.push_back(variable.set.operation);
    values.push_back(tf_shared(in_order(*variable.at_load, variable.order)));
  }
  session.run(fetches, values);
}

std::map<std::string, Tensor> TfVariables::copies(const TfSession& session) const {
  TfSession::Fetches fetches;
  for (const auto& [name, variable] : made_) fetches.outputs.push_back(variable.read);
  const std::vector<TfTensor> values = session.run(fetches, {});
  std::map<std::string, Tensor> copies;
  auto value = values.begin();
  for (const auto& [name, variable] : made_) {
    Tensor copy = make_tensor(DataType::f32, shape_of(value->get()));
    std::memcpy(writable<std::byte>(copy).data(), tf().tensor_data(value->get()), copy.bytes());
    const size_t rank = copy.shape.size();
    copies.emplace(name, variable.order.empty() ? copy : permuted(copy, between(variable.order, {}, rank)));
    ++value;
  }
  return copies;
}

}  // namespace deepgap
