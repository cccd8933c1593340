#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

template <typename T>
const T* find(const Node& node, std::string_view name, std::string_view kind) {
  const auto found = node.attributes.find(std::string(name));
  if (found == node.attributes.end()) return nullptr;
  const T* content = std::get_if<T>(&found->second);
  if (content == nullptr)
    throw Error(ErrorKind::input, fmt::format("node '{}' ({}): attribute '{}' should be {}", node.name, node.op, name, kind));
  return content;
}

}  // namespace

int64_t attribute_int(const Node& node, std::string_view name, int64_t fallback) {
  const auto* content = find<int64_t>(node, name, "an integer");
  return content == nullptr ? fallback : *content;
}

float attribute_float(const Node& node, std::string_view name, float fallback) {
  const auto* content = find<float>(node, name, "a float");
  return content == nullptr ? fallback : *content;
}

std::string attribute_string(const Node& node, std::string_view name, const std::string& fallback) {
  const auto* content = find<std::string>(node, name, "a string");
  return content == nullptr ? fallback : *content;
}

std::vector<int64_t> attribute_ints(const Node& node, std::string_view name, const std::vector<int64_t>& fallback) {
  const auto* content = find<std::vector<int64_t>>(node, name, "a list of integers");
  return content == nullptr ? fallback : *content;
}

}  // namespace deepgap
