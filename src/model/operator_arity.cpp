#include "model/operator_arity.h"

#include "base/text.h"
#include "model/graph_tools.h"
#include "model/node_body.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <packed_operator_arity.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace deepgap {
namespace {

// Definitions by ascending opset.
using Table = std::map<std::string_view, std::vector<OperatorArity>, std::less<>>;

Table read_table() {
  static const auto packed = packed_operator_arity();  // owns the text that the rows alias
  Table table;
  std::string_view text = packed.front().second;
  text.remove_prefix(text.find('\n') + 1);  // the heading
  for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    std::string_view row = text.substr(0, end);
    const auto cell = [&row] {
      const std::string_view first = row.substr(0, row.find(','));
      row.remove_prefix(std::min(row.size(), first.size() + 1));
      return first;
    };
    const std::string_view op = cell(), since = cell(), inputs = cell(), outputs = cell();
    table[op].push_back({static_cast<int>(parse_int(since).value_or(0)), inputs, outputs});
  }
  return table;
}

const Table& table() {
  static const Table all = read_table();
  return all;
}

bool is_list(char letter) { return letter == '+' || letter == '*'; }

// The letter of input or output `i`; 0 where the operator has none.
char letter_at(std::string_view letters, size_t i) {
  if (i < letters.size()) return letters[i];
  return !letters.empty() && is_list(letters.back()) ? letters.back() : '\0';
}

size_t fewest(std::string_view letters) { return letters.find_last_of("x+") + 1; }  // npos + 1 is 0

std::string expected(std::string_view letters) {
  const size_t least = fewest(letters), most = letters.size();
  if (!letters.empty() && is_list(letters.back())) return fmt::format("at least {}", least);
  return least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
}

void check_count(const Node& node, std::string_view what, size_t count, std::string_view letters, int opset) {
  if (count >= fewest(letters) && (count == 0 || letter_at(letters, count - 1) != '\0')) return;
  fail_node(node, fmt::format("it has {} {}{}, expected {}{}", count, what, count == 1 ? "" : "s", expected(letters),
                              node.domain.empty() ? fmt::format(" in opset {}", opset) : ""));
}

std::optional<OperatorArity> arity_of_node(const Node& node, int opset) {
  return arity_of(node.domain.empty() ? node.op : fmt::format("{}.{}", node.domain, node.op), opset);
}

std::set<ValueId> read_values(const Graph& graph) {
  std::set<ValueId> read(graph.outputs.begin(), graph.outputs.end());
  std::set<std::string> captured;
  for (const Node& node : graph.nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute)) captured.merge(captured_names(**body));
  }
  for (size_t id = 0; id < graph.values.size() && !captured.empty(); ++id)
    if (captured.contains(graph.values[id].name)) read.insert(static_cast<ValueId>(id));
  return read;
}

bool is_normalization(const Node& node) { return node.op == "BatchNormalization"; }
bool makes_unread_outputs(const Node& node) { return node.op == "Dropout" || node.op == "MaxPool" || is_normalization(node); }

}  // namespace

std::optional<OperatorArity> arity_of(std::string_view op, int opset) {
  const auto found = table().find(op);
  if (found == table().end()) return std::nullopt;
  const std::vector<OperatorArity>& versions = found->second;
  const auto next = std::find_if(versions.begin(), versions.end(), [&](const OperatorArity& one) { return one.since > opset; });
  return next == versions.begin() ? versions.front() : *(next - 1);
}

void check_arity(const Node& node, int opset) {
  const auto arity = arity_of_node(node, opset);
  if (!arity) return;  // engines refuse it by its name
  check_count(node, "input", node.inputs.size(), arity->inputs, opset);
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] == no_value && letter_at(arity->inputs, i) != '?') fail_node(node, fmt::format("input {} is missing", i));
  check_count(node, "output", node.outputs.size(), arity->outputs, opset);
}

bool always_made(const Node& node, size_t output, int opset) {
  if (output == 0) return true;  // passes and engines look at it
  const auto arity = node.domain.empty() ? arity_of(node.op, opset) : std::nullopt;
  return arity && letter_at(arity->outputs, output) != '?';
}

void leave_out_unread_outputs(Graph& graph) {
  const auto concerns = [](const Node& node) { return node.domain.empty() && node.outputs.size() > 1 && makes_unread_outputs(node); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), concerns)) return;
  const std::set<ValueId> read = read_values(graph);
  for (Node& node : graph.nodes) {
    if (!concerns(node)) continue;
    while (node.outputs.size() > 1 && !read.contains(node.outputs.back())) node.outputs.pop_back();
    const bool trains = graph.opset >= 14 && attribute_int(node, "training_mode", 0) != 0;
    if (is_normalization(node) && !trains && node.outputs.size() > 1)
      fail_node(node, fmt::format("output {} ('{}') is made in training only, and something reads it", node.outputs.size() - 1,
                                  graph.values[static_cast<size_t>(node.outputs.back())].name));
  }
}

}  // namespace deepgap
