#include "engine/passes/attention.h"

#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

// The input's position, then the four steps.
Ints listed(const Attention::Operand& operand) {
  Ints list{static_cast<int64_t>(operand.input)};
  list.insert(list.end(), operand.steps.begin(), operand.steps.end());
  return list;
}

Attention::Operand operand_of(const Node& node, const char* name) {
  const Ints list = attribute_ints(node, name, {});
  Attention::Operand operand{static_cast<size_t>(list.at(0)), {}};
  std::copy_n(list.begin() + 1, operand.steps.size(), operand.steps.begin());
  return operand;
}

}  // namespace

bool is_attention(const Node& node) { return node.domain == "deepgap" && node.op == "Attention"; }

void describe(Node& node, const Attention& a) {
  node.attributes["sizes"] = Ints{a.batch, a.heads, a.queries, a.keys, a.depth, a.columns};
  node.attributes["query"] = listed(a.query);
  node.attributes["key"] = listed(a.key);
  node.attributes["value"] = listed(a.value);
  if (a.mask) node.attributes["mask"] = listed(*a.mask);
  node.attributes["result"] = Ints(a.result.begin(), a.result.end());
  node.attributes["scale"] = a.scale;
}

Attention attention_of(const Node& node) {
  const Ints sizes = attribute_ints(node, "sizes", {}), result = attribute_ints(node, "result", {});
  Attention a{.batch = sizes.at(0),
              .heads = sizes.at(1),
              .queries = sizes.at(2),
              .keys = sizes.at(3),
              .depth = sizes.at(4),
              .columns = sizes.at(5),
              .query = operand_of(node, "query"),
              .key = operand_of(node, "key"),
              .value = operand_of(node, "value")};
  if (node.attributes.contains("mask")) a.mask = operand_of(node, "mask");
  std::copy_n(result.begin(), a.result.size(), a.result.begin());
  a.scale = attribute_float(node, "scale", 1);
  return a;
}

}  // namespace deepgap
