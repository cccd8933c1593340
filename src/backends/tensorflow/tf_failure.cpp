#include "backends/tensorflow/tf_failure.h"

#include "base/text.h"
#include "base/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace deepgap {
namespace {

// Codes of TensorFlow's statuses, which are gRPC's.
constexpr int resource_exhausted = 8;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The operation that a message names: "{{node b1/conv1/Conv2D}}", "[[b1/conv1/Conv2D]]" or "'b1/conv1/Conv2D'".
std::string named_node(std::string_view message, const TfScope& scope) {
  constexpr std::string_view open[] = {"{{node ", "[[", "'", "node "}, close[] = {"}}", "]]", "'", " "};
  for (size_t i = 0; i < std::size(open); ++i) {
    for (size_t at = message.find(open[i]); at != std::string_view::npos; at = message.find(open[i], at + 1)) {
      const size_t begin = at + open[i].size();
      std::string node = scope.node_of(message.substr(begin, message.find(close[i], begin) - begin));
      if (!node.empty()) return node;
    }
  }
  return {};
}

}  // namespace

std::string tf_words(const std::string& message) {
  std::string text = message;
  for (const char* rest : {"\nRegistered kernels", "\n\t [[", "\n\nOriginal stack", ".  Registered:", "\nErrors may have originated"})
    text = text.substr(0, text.find(rest));
  return one_line(trim(text));
}

Error tf_error(const TfFailure& failure, const std::string& doing) {
  const std::string words = tf_words(failure.message);
  if (failure.code == resource_exhausted || contains(failure.message, "OOM when allocating"))
    return {ErrorKind::out_of_memory, "out of memory: tensorflow " + doing + ": " + words};
  return {ErrorKind::refused, "tensorflow " + doing + ": " + words};
}

Error tf_error(const TfFailure& failure, const std::string& doing, const TfScope& scope, const Graph& graph) {
  const std::string name = named_node(failure.message, scope);
  const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& one) { return one.name == name; });
  if (name.empty() || node == graph.nodes.end()) return tf_error(failure, doing);
  return tf_error({failure.code, failure.message},
                  fmt::format("{}: operator {} (node '{}')", doing, node->domain.empty() ? node->op : node->domain + "." + node->op, name));
}

}  // namespace deepgap
