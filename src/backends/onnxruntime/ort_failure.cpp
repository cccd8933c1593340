#include "backends/onnxruntime/ort_failure.h"

#include "backends/common/blamed_node.h"
#include "base/text.h"
#include "base/words.h"

#include <fmt/format.h>

#include <string_view>

namespace deepgap {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_out_of_memory(const OrtFailure& failure) {
  return contains(failure.message, "bad_alloc") || contains(failure.message, "Failed to allocate memory") ||
         contains(failure.message, "out of memory");
}

// Returns the two sentences that matter if a model has a later opset; the last one names the latest opset. Empty: it is another message.
std::string opset_words(const std::string& line) {
  const size_t asked = line.find("Opset "), known = line.find("Current official support for domain");
  if (asked == std::string::npos || known == std::string::npos || asked > known) return {};
  return line.substr(asked, line.find(". ", asked) - asked) + ". " + line.substr(known);
}

}  // namespace

// Messages made by its ENFORCE macro begin "/path/file.cc:123 ReturnType ns::Function(args) condition was false. words": the words count.
std::string short_message(const std::string& message) {
  std::string line = trim(printable(message));
  if (const std::string words = opset_words(line); !words.empty()) return one_line(words);
  constexpr std::string_view condition = " was false. ";
  if (const size_t at = line.find(condition); line.starts_with('/') && at != std::string::npos) line = line.substr(at + condition.size());
  return one_line(line);
}

Error run_error(const OrtFailure& failure) {
  const std::string words = "onnxruntime: " + short_message(failure.message);
  if (is_out_of_memory(failure)) return {ErrorKind::out_of_memory, "out of memory: " + words};
  // The library answers so for an index beyond its axis or a size that does not fit: the samples' fault, not the library's. With any other
  // code it has not crashed either.
  return {failure.code == ort_invalid_argument ? ErrorKind::input : ErrorKind::refused, words};
}

Error load_error(const OrtFailure& failure, const Graph& graph) {
  const std::string words = short_message(failure.message);
  if (is_out_of_memory(failure)) return {ErrorKind::out_of_memory, "onnxruntime is out of memory loading the model: " + words};
  const Node* node = blamed_node(graph, failure.message);
  const bool unknown = contains(failure.message, "No Op registered") || contains(failure.message, "not a registered function/op");
  if (node != nullptr && unknown) {
    return {ErrorKind::refused,
            fmt::format("onnxruntime has no operator '{}' (node '{}', opset {})", full_name(*node), node->name, graph.opset)};
  }
  if (node != nullptr && failure.code == ort_not_implemented) {
    return {ErrorKind::refused, fmt::format("onnxruntime has no kernel for operator '{}' with these types (node '{}'): {}",
                                            full_name(*node), node->name, words)};
  }
  const ErrorKind kind = failure.code == ort_invalid_protobuf ? ErrorKind::input : ErrorKind::refused;
  if (node == nullptr) return {kind, fmt::format("onnxruntime does not load the model: {}", words)};
  return {kind, fmt::format("onnxruntime does not load the model: operator '{}' (node '{}'): {}", full_name(*node), node->name, words)};
}

}  // namespace deepgap
