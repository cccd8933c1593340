#include "backends/libtorch/torch_operator.h"

#include "model/translated_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

std::map<std::string, TorchOperator>& table() {
  static std::map<std::string, TorchOperator> operators;
  return operators;
}

}  // namespace

bool add_torch_operator(const char* name, TorchOperator function) { return table().emplace(name, function).second; }

std::vector<std::string> torch_operators() {
  std::vector<std::string> names;
  for (const auto& [name, function] : table())
    if (name.find('.') == std::string::npos) names.push_back(name);
  return names;
}

std::string torch_operator_refusal(const GraphSummary& graph) {
  for (const OperatorUse& use : graph.operators) {
    if (use.domain.empty() && (table().contains(use.op) || may_be_folded(use.op))) continue;
    return fmt::format("operator {}{}{} is not run (node '{}')", use.domain, use.domain.empty() ? "" : ".", use.op, use.first_node);
  }
  return {};
}

TorchStep make_torch_step(const TorchCall& call) {
  const auto found = table().find(call.operator_name());
  if (found == table().end()) {
    throw Error(ErrorKind::refused, fmt::format("libtorch does not run operator {} (node '{}')", call.operator_name(), call.node.name));
  }
  return found->second(call);
}

}  // namespace deepgap
