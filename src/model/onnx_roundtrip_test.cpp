// The reader reads what the writer writes.
#include "model/decoder/decoder.h"
#include "model/graph_tools.h"
#include "model/onnx_metadata.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/zoo/zoo.h"

#include <gtest/gtest.h>

#include <cstring>

namespace deepgap {
namespace {

Graph filled(const std::string& name) {
  ZooOptions options;
  Graph graph = find_zoo_model(name, options)->build(options);
  for (auto& [id, constant] : graph.constants) {
    if (constant.data != nullptr) continue;
    Tensor tensor = make_tensor(constant.type, constant.shape);
    float value = static_cast<float>(id);
    for (float& element : writable<float>(tensor)) element = value += 0.25f;
    constant = std::move(tensor);
  }
  return graph;
}

TEST(OnnxRoundTrip, EveryZooNetworkComesBackTheSame) {
  for (const std::string& name : zoo_names()) {
    ZooOptions none;
    if (is_decoder(find_zoo_model(name, none)->build(none))) continue;  // no network of ONNX operators
    const Graph graph = filled(name + ":width=0.25");
    const std::string file = write_onnx(graph);
    const Graph read = parse_onnx(std::as_bytes(std::span(file)), name, "");
    EXPECT_EQ(graph_hash(read), graph_hash(graph)) << name;
    ASSERT_EQ(read.nodes.size(), graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) EXPECT_EQ(read.nodes[i].name, graph.nodes[i].name);
    EXPECT_EQ(read.values[read.outputs[0]].dims, graph.values[graph.outputs[0]].dims) << name;
    EXPECT_EQ(write_onnx(read).size(), file.size());
  }
}

TEST(OnnxRoundTrip, MetadataComesBackAndSaysNothingAboutTheContent) {
  const Graph graph = filled("resnet18:width=0.25");
  const std::map<std::string, std::string> metadata{{"deepgap.quantize.method", "minmax\nof two lines"}, {"other", ""}};
  const std::string file = write_onnx(graph, metadata);
  EXPECT_EQ(onnx_metadata(std::as_bytes(std::span(file))), metadata);
  EXPECT_EQ(graph_hash(parse_onnx(std::as_bytes(std::span(file)), "x", "")), graph_hash(graph));
}

}  // namespace
}  // namespace deepgap
