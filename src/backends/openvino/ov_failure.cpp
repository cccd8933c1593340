#include "backends/openvino/ov_failure.h"

#include "backends/common/blamed_node.h"
#include "base/text.h"
#include "base/words.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace deepgap {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool out_of_memory(std::string_view message) {
  return contains(message, "bad_alloc") || contains(message, "out of memory") || contains(message, "llocate memory") ||
         contains(message, "Failed to allocate");
}

// "Exception from src/x.cpp:12:" and "Check 'a == b' failed at src/y.cpp:34:".
bool is_place(const std::string& line) {
  return line.starts_with("Exception from ") || (line.starts_with("Check '") && contains(line, "' failed at "));
}

// Lines around the reason that a frontend gives, which say nothing of it.
bool is_frame(const std::string& line) {
  return line.starts_with("FrontEnd API failed with") || line.starts_with("Model wasn't fully converted") || line == "Summary:" ||
         line.starts_with("-- Conversion is failed for:");
}

// The node at which the frontend stopped. Others that it names only read what was not converted.
const Node* failed_node(const Graph& graph, const std::string& message) {
  const size_t stopped = message.find("While validating ONNX node '");
  if (stopped != std::string::npos)
    if (const Node* node = blamed_node(graph, message.substr(stopped, message.find('\n', stopped) - stopped))) return node;
  return blamed_node(graph, message);
}

}  // namespace

std::string ov_words(const std::string& message) {
  std::vector<std::string> words;
  for (const std::string& raw : split(message, '\n')) {
    const std::string line = trim(raw);
    if (!line.empty() && !is_place(line) && !is_frame(line)) words.push_back(line);
  }
  std::string line = join(words, " ");
  if (line.empty()) line = trim(message);  // nothing but places: better than silence
  return one_line(line);
}

Error ov_run_error(const std::string& message) {
  if (out_of_memory(message)) return {ErrorKind::out_of_memory, "out of memory: openvino: " + ov_words(message)};
  return {ErrorKind::refused, "openvino: " + ov_words(message)};  // it answers, so it has not crashed
}

Error ov_load_error(const std::string& message, const Graph& graph) {
  const std::string words = ov_words(message);
  if (out_of_memory(message)) return {ErrorKind::out_of_memory, "openvino is out of memory loading the model: " + words};
  if (contains(message, "Unable to read the model")) return {ErrorKind::input, "openvino does not read the model: " + words};
  // It also lists nodes that it could not convert because what they read was not converted.
  if (const size_t missing = message.find("No conversion rule found"); missing != std::string::npos) {
    const std::string list = message.substr(missing, message.find('\n', missing) - missing);
    if (const Node* node = blamed_node(graph, list))
      return {ErrorKind::refused,
              fmt::format("openvino has no operator '{}' (node '{}', opset {})", full_name(*node), node->name, graph.opset)};
  }
  const Node* node = failed_node(graph, message);
  if (node == nullptr) return {ErrorKind::refused, "openvino does not load the model: " + words};
  return {ErrorKind::refused,
          fmt::format("openvino does not load the model: operator '{}' (node '{}'): {}", full_name(*node), node->name, words)};
}

}  // namespace deepgap
