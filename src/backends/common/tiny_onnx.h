// For the plug-ins' tests: ONNX files of a few nodes, written field by field, so that an engine is tried on bytes that do not come from
// deepgap's own writer.
#pragma once

#include "base/test_model.h"

#include <deepgap/graph.h>
#include <deepgap/model.h>

#include <string>
#include <vector>

namespace deepgap::tiny_onnx {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes += static_cast<char>(value);
}
inline std::string number(int field, uint64_t value) { return varint(static_cast<uint64_t>(field) << 3) + varint(value); }
inline std::string bytes(int field, const std::string& content) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

inline constexpr uint64_t f32 = 1, i64 = 7;

// Sizes as written in ONNX: "N" or a number.
inline std::string value_info(const std::string& name, uint64_t type, const std::vector<std::string>& sizes) {
  std::string shape;
  for (const std::string& size : sizes) {
    const bool symbol = size == "N" || size == "M";
    shape += bytes(1, symbol ? bytes(2, size) : number(1, std::stoull(size)));
  }
  return bytes(1, name) + bytes(2, bytes(1, number(1, type) + bytes(2, shape)));
}
inline std::string node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs, const std::string& output,
                        const std::string& domain = "") {
  std::string text;
  for (const std::string& input : inputs) text += bytes(1, input);
  text += bytes(2, output) + bytes(3, name) + bytes(4, op);
  return domain.empty() ? text : text + bytes(7, domain);
}
inline std::string model(const std::vector<std::string>& nodes, const std::string& input, const std::vector<std::string>& outputs,
                         uint64_t opset = 17) {
  std::string graph;
  for (const std::string& one : nodes) graph += bytes(1, one);
  graph += bytes(2, "tiny") + bytes(11, input);
  for (const std::string& output : outputs) graph += bytes(12, output);
  return number(1, 8) + bytes(8, bytes(1, "") + number(2, opset)) + bytes(7, graph);
}

// A Model of such bytes and the part of its Graph that the backend looks at.
class TinyModel final : public TestModel {
 public:
  TinyModel(std::string bytes, Graph graph) : TestModel(std::move(graph), std::move(bytes)) { graph_.name = "tiny"; }
};

// y = x + x of [N, 3], or of a fixed batch; and, where asked for, z: the positions of x's non-zero values, whose shape only the run knows.
inline TinyModel doubling(bool with_positions, int64_t fixed_batch = 0) {
  const Dims dims = fixed_batch == 0 ? Dims{{1, batch_symbol}, {3, ""}} : Dims{{fixed_batch, ""}, {3, ""}};
  const std::string rows = fixed_batch == 0 ? "N" : std::to_string(fixed_batch);
  std::vector<std::string> nodes{node("Add", "twice", {"x", "x"}, "y")}, outputs{value_info("y", f32, {rows, "3"})};
  Graph graph;
  graph.values = {{"x", DataType::f32, dims}, {"y", DataType::f32, dims}, {"z", DataType::i64, std::nullopt}};
  graph.nodes = {{"twice", "Add", "", {0, 0}, {1}, {}}};
  graph.inputs = {0};
  graph.outputs = {1};
  if (with_positions) {
    nodes.push_back(node("NonZero", "where", {"x"}, "z"));
    outputs.push_back(value_info("z", i64, {"2", "M"}));
    graph.nodes.push_back({"where", "NonZero", "", {0}, {2}, {}});
    graph.outputs.push_back(2);
  }
  return {model(nodes, value_info("x", f32, {rows, "3"}), outputs), graph};
}

}  // namespace deepgap::tiny_onnx
