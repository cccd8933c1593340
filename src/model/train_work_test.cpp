#include "model/train_work.h"

#include "model/graph_tools.h"
#include "model/model_source.h"
#include "model/onnx_test_files.h"
#include "model/two_layers.h"
#include "model/zoo/zoo.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

Graph zoo_graph(const std::string& name) {
  ZooOptions options;
  return find_zoo_model(name, options)->build(options);
}

TEST(TrainWork, OfTwoLayersByHand) {
  const TrainWork work = train_work(two_layers(), {.optimizer = Optimizer::sgd});
  EXPECT_EQ(work.macs_per_item, 2 * 12 + 3 * 6) << "nobody asks for the input's gradient";
  EXPECT_EQ(work.passes_flop, 2 * (2 * 12 + 3 * 6) + 2 * 3) << "the Relu, forward and backward";
  EXPECT_EQ(work.update_flop, 2 * 18);
  EXPECT_EQ(work.update_bytes, 3 * 18 * 4);
  const int64_t first = 4 * (4 + 12 + 3), relu = 4 * 6, second = 4 * (3 + 6 + 2);
  EXPECT_EQ(work.passes_bytes, 2 * first + 2 * relu + 3 * second);
  EXPECT_EQ(work.flop_per_item(4), work.passes_flop + 9);
}

// The study's rule of thumb: three times the forward pass; less what the first convolution does not pass on.
TEST(TrainWork, OfResNetIsThreeForwardPassesWithoutTheFirstLayersInput) {
  const Graph graph = zoo_graph("resnet50");
  const int64_t first = int64_t{64} * 3 * 49 * 112 * 112;
  EXPECT_EQ(train_work(graph, {}).macs_per_item, 3 * summarize(graph).macs_per_item - first);
}

TEST(TrainWork, ANetworkWithoutWeightsHasNoWayBack) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 4});
  describe_value(graph->add_output(), "y", {});
  add_node(graph, "Relu", {"x"}, {"y"}, "relu");
  const Graph read = read_model(model);
  EXPECT_EQ(train_work(read, {}).passes_flop, summarize(read).flop_per_item);
  EXPECT_TRUE(trainable_constants(read).empty());
}

}  // namespace
}  // namespace deepgap
