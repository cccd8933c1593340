// What detectors end with: boxes struck out, and the best of very many.
#include "trial.h"

#include "../conformance/graph_builder.h"

#include <gtest/gtest.h>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;

// Scores of what is kept, and the best of them, as the zoo's detectors have it.
Graph detector(GraphBuilder& net) {
  const int64_t boxes = 60, classes = 4;
  const ValueId corners = net.input({boxes, 4}), scores = net.input({classes, boxes});
  const ValueId kept =
      net.node("NonMaxSuppression", {corners, scores, net.ints({12}), net.floats({1}, 0.1F, 0.2F), net.floats({1}, 0, 0.1F)});
  const ValueId nothing = net.node("ConstantOfShape", {net.node("Shape", {scores})});
  const ValueId all = net.node("ScatterND", {nothing, kept, net.node("GatherND", {scores, kept})});
  const auto best = net.nodes("TopK", {net.node("Reshape", {all, net.ints({0, -1})}), net.ints({30})}, 2, {{"axis", int64_t{1}}});
  return net.finish({best[0], best[1]});
}

// Sorted in rounds; numbers in quarters, so that many are equal, and along an axis that is not the last.
Graph longest(GraphBuilder& net) {
  const auto best = net.nodes("TopK", {net.stepped_input({9000, 2}, DataType::f32), net.ints({30})}, 2, {{"axis", int64_t{1}}});
  const auto least = net.nodes("TopK", {net.stepped_input({5000}, DataType::i32), net.ints({500})}, 2, {{"largest", int64_t{0}}});
  return net.finish({best[0], best[1], least[0], least[1]});
}

// Few of many: of the words that a beam search can go on with, of numbers that are all equal, and of a part that is shorter than what is
// wanted.
Graph few(GraphBuilder& net) {
  const auto words = net.nodes("TopK", {net.input({2, 40000}), net.ints({10})}, 2, {{"axis", int64_t{2}}});
  const auto equal = net.nodes("TopK", {net.node("Mul", {net.input({5000}), net.floats({1}, 0, 0)}), net.ints({128})}, 2);
  const auto least = net.nodes("TopK", {net.stepped_input({2050}, DataType::i32), net.ints({7})}, 2, {{"largest", int64_t{0}}});
  return net.finish({words[0], words[1], equal[0], equal[1], least[0], least[1]});
}

void try_graph(Graph (*build)(GraphBuilder&), const GpuNumbers& numbers, const std::string& precision) {
  Trial trial({numbers, Integers::as_operators}, precision);
  Random random(seed());
  GraphBuilder net(random, 17);
  Graph graph = build(net);
  Samples samples = random_samples(random, graph, Trial::batch);
  trial.add("detector", std::move(graph), std::move(samples));
  trial.run(within_tolerance(precision));
  EXPECT_EQ(trial.computed(), 1U);
}

TEST(EmulatedDetector, Float32) { try_graph(detector, {ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedDetector, BestOfManyInFloat32) { try_graph(longest, {ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedDetector, BestOfManyInFloat16) { try_graph(longest, {ComputeType::f16, Element::f16}, "fp16"); }
TEST(EmulatedDetector, FewOfManyInFloat32) { try_graph(few, {ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedDetector, FewOfManyInFloat16) { try_graph(few, {ComputeType::f16, Element::f16}, "fp16"); }

}  // namespace
}  // namespace deepgap::gpu
