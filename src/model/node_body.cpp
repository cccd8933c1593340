#include "model/node_body.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace deepgap {

void fail_node(const Node& node, const std::string& cause) {
  throw Error(ErrorKind::input, fmt::format("node '{}' ({}): {}", node.name, node.op, cause));
}

bool has_body(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const auto& item) { return std::holds_alternative<std::shared_ptr<const Graph>>(item.second); });
}

const Graph& body_of(const Node& node, const char* attribute) {
  const auto found = node.attributes.find(attribute);
  const auto* body = found == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Graph>>(&found->second);
  if (body == nullptr || *body == nullptr) fail_node(node, fmt::format("it has no {}", attribute));
  return **body;
}

}  // namespace deepgap
