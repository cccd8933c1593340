#include "backends/xla/xla_operator.h"

#include "model/eval/element_types.h"
#include "model/graph_tools.h"
#include "model/translated_nodes.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

std::map<std::string, XlaOperator>& table() {
  static std::map<std::string, XlaOperator> operators;
  return operators;
}

// Constants of more numbers are arguments: the text of a program should be short, and XLA would fold them as it compiles.
constexpr int64_t most_numbers_in_text = 64;

}  // namespace

bool is_floating(DataType type) {
  return type == DataType::f32 || type == DataType::f64 || type == DataType::f16 || type == DataType::bf16;
}

bool add_xla_operator(const char* name, XlaOperator function) { return table().emplace(name, function).second; }

std::string xla_operator_refusal(const GraphSummary& graph) {
  for (const OperatorUse& use : graph.operators) {
    if (use.domain.empty() && (table().contains(use.op) || may_be_folded(use.op))) continue;
    return fmt::format("operator {}{}{} has no translation to StableHLO (node '{}')", use.domain, use.domain.empty() ? "" : ".", use.op,
                       use.first_node);
  }
  return {};
}

void write_xla_operation(const XlaCall& call) {
  const auto found = call.node.domain.empty() ? table().find(call.node.op) : table().end();
  if (found == table().end())
    throw Error(ErrorKind::refused, fmt::format("xla: operator {} has no translation (node '{}')", call.operator_name(), call.node.name));
  found->second(call);
}

HloValue XlaValues::of(ValueId id) {
  if (const auto found = values_.find(id); found != values_.end()) return found->second;
  const Tensor* constant = constant_of(graph_, id);
  if (constant == nullptr)
    throw Error(ErrorKind::internal, fmt::format("xla: value '{}' was not made", graph_.values[static_cast<size_t>(id)].name));
  const DataType type = computed(constant->type);
  if (element_count(constant->shape) <= most_numbers_in_text || constant->type == DataType::boolean)
    return values_[id] = writer_.constant(converted(*constant, type));
  weights_.push_back(*constant);
  return values_[id] = writer_.argument(type, constant->shape);
}

void XlaCall::out(size_t output, HloValue value) const {
  if (output < node.outputs.size() && node.outputs[output] != no_value) values.set(node.outputs[output], std::move(value));
}

std::string XlaCall::precision() const {
  const char* word = exact ? "HIGHEST" : "DEFAULT";
  return fmt::format("precision_config = [#stablehlo<precision {}>, #stablehlo<precision {}>]", word, word);
}

void XlaCall::out_of_float32(const std::function<HloValue(const HloValue& x)>& function) const {
  const HloValue x = in(0);
  const bool narrow = x.type == DataType::f16 || x.type == DataType::bf16;
  out(0, hlo.convert(function(narrow ? hlo.convert(x, DataType::f32) : x), x.type));
}

}  // namespace deepgap
