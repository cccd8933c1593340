// For the tests of this folder: networks in OpenVINO's own format, written by hand, so that the backend is tried on bytes that do not come
// from deepgap's writer. Each adds x to itself; the first also tells where the values are not zero, in a shape that only the run knows.
#pragma once

#include <deepgap/model.h>

#include <string>
#include <utility>

namespace deepgap::tiny_network {

class TinyModel final : public Model {
 public:
  TinyModel(std::string bytes, Graph graph) : bytes_(std::move(bytes)), graph_(std::move(graph)) {}
  const std::string& name() const override { return name_; }
  const Graph& graph() const override { return graph_; }
  const GraphSummary& summary() const override { return summary_; }
  std::span<const std::byte> onnx() const override { return std::as_bytes(std::span(bytes_)); }
  const std::string& file() const override { return file_; }

 private:
  std::string bytes_, name_ = "tiny", file_;
  Graph graph_;
  GraphSummary summary_;
};

inline std::string text(const std::string& rows, bool with_positions) {
  const std::string x = "<dim>" + rows + "</dim><dim>3</dim></port>";
  const std::string sum_in = "<input><port id=\"0\" precision=\"FP32\">" + x;
  std::string layers = R"(<layer id="0" name="x" type="Parameter" version="opset1"><data shape=")" + (rows == "-1" ? "?" : rows) +
                       R"(,3" element_type="f32"/><output><port id="0" precision="FP32" names="x">)" + x + "</output></layer>" +
                       R"(<layer id="1" name="y" type="Add" version="opset1"><data auto_broadcast="numpy"/>)" + sum_in +
                       R"(<port id="1" precision="FP32">)" + x + R"(</input><output><port id="2" precision="FP32" names="y">)" + x +
                       R"(</output></layer><layer id="2" name="y/end" type="Result" version="opset1">)" + sum_in + "</input></layer>";
  std::string edges =
      R"(<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>)"
      R"(<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>)";
  if (with_positions) {
    const std::string z = "<dim>2</dim><dim>-1</dim></port>";
    layers += R"(<layer id="3" name="z" type="NonZero" version="opset3"><data output_type="i64"/>)" + sum_in +
              R"(</input><output><port id="1" precision="I64" names="z">)" + z +
              R"(</output></layer><layer id="4" name="z/end" type="Result" version="opset1"><input><port id="0" precision="I64">)" + z +
              "</input></layer>";
    edges +=
        R"(<edge from-layer="0" from-port="0" to-layer="3" to-port="0"/><edge from-layer="3" from-port="1" to-layer="4" to-port="0"/>)";
  }
  return R"(<?xml version="1.0"?><net name="tiny" version="11"><layers>)" + layers + "</layers><edges>" + edges + "</edges></net>";
}

inline TinyModel doubling(bool with_positions, int64_t fixed_batch = 0) {
  const Dims dims = fixed_batch == 0 ? Dims{{1, batch_symbol}, {3, ""}} : Dims{{fixed_batch, ""}, {3, ""}};
  Graph graph;
  graph.values = {{"x", DataType::f32, dims}, {"y", DataType::f32, dims}, {"z", DataType::i64, std::nullopt}};
  graph.nodes = {{"twice", "Add", "", {0, 0}, {1}, {}}};
  graph.inputs = {0};
  graph.outputs = {1};
  if (with_positions) {
    graph.nodes.push_back({"where", "NonZero", "", {0}, {2}, {}});
    graph.outputs.push_back(2);
  }
  return {text(fixed_batch == 0 ? "-1" : std::to_string(fixed_batch), with_positions), graph};
}

}  // namespace deepgap::tiny_network
