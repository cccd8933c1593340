#include "backends/tensorflow/tf_run_metadata.h"

#include "model/wire.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

// A RunMetadata with one device and these operations: name, label, nanoseconds.
struct Timed {
  std::string name, label;
  int64_t begin_ns, end_ns;
};
std::string metadata_of(const std::vector<Timed>& operations) {
  std::string device;
  for (const Timed& one : operations) {
    std::string node;
    WireWriter fields(node);
    fields.bytes(1, one.name);
    fields.integer(3, one.begin_ns / 1000);
    fields.integer(4, one.end_ns / 1000);
    fields.bytes(8, one.label);
    fields.integer(14, one.begin_ns);
    fields.integer(15, one.end_ns);
    WireWriter(device).bytes(2, node);
  }
  std::string step, metadata;
  WireWriter(step).bytes(1, device);
  WireWriter(metadata).bytes(1, step);
  return metadata;
}

TEST(TfRunMetadata, OperationsOfANodeAreOneLayer) {
  TfScope scope(nullptr);
  scope.enter("batch1", "conv 1");
  const std::string bytes = metadata_of({{"batch1/conv_1/Transpose", "batch1/conv_1/Transpose = Transpose(a, b)", 100, 300},
                                         {"batch1/conv_1/Conv2D", "batch1/conv_1/Conv2D = _FusedConv2D(a)", 300, 2500},
                                         {"batch1/other/Relu", "batch1/other/Relu = Relu(x)", 2500, 2600},
                                         {"batch1/conv_1/Const", "batch1/conv_1/Const = Const()", 0, 9000}});
  const std::vector<LayerTiming> layers = tf_layer_timings({bytes.data(), bytes.size(), nullptr}, scope);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].name, "conv 1");
  EXPECT_EQ(layers[0].op, "_FusedConv2D");
  EXPECT_EQ(layers[0].ns, 2400);
  EXPECT_EQ(layers[1].name, "batch1/other/Relu") << "of no node: its own name";
}

TEST(TfRunMetadata, ProductsAndTheirTypes) {
  const auto node = [](const std::string& name, const std::string& op, int64_t type) {
    std::string value, entry, text;
    WireWriter(value).integer(6, type);
    WireWriter pair(entry);
    pair.bytes(1, "T");
    pair.bytes(2, value);
    WireWriter fields(text);
    fields.bytes(1, name);
    fields.bytes(2, op);
    fields.bytes(5, entry);
    return text;
  };
  std::string graph, metadata;
  WireWriter nodes(graph);
  nodes.bytes(1, node("a/Conv2D", "_FusedConv2D", 14));
  nodes.bytes(1, node("b/MatMul", "MatMul", 1));
  nodes.bytes(1, node("c/Relu", "Relu", 1));
  WireWriter(metadata).bytes(3, graph);
  const std::vector<TfProduct> products = tf_products({metadata.data(), metadata.size(), nullptr});
  ASSERT_EQ(products.size(), 2U);
  EXPECT_EQ(products[0].operation + " " + products[0].precision, "a/Conv2D bf16");
  EXPECT_EQ(products[1].operation + " " + products[1].precision, "b/MatMul fp32");
}

}  // namespace
}  // namespace deepgap
