// Kernels that the conformance suite's small shapes do not reach: rows that no block keeps in registers, transposed convolutions that are
// products, operands joined by vectors.
#include "trial.h"

#include "../conformance/graph_builder.h"
#include "../conformance/quantizing.h"

#include <gtest/gtest.h>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;
using Ints = std::vector<int64_t>;

using Build = Graph (*)(GraphBuilder&);

Graph softmaxes(GraphBuilder& net) {
  const ValueId x = net.input({17000});
  return net.finish({net.node("Softmax", {x}), net.node("LogSoftmax", {x})});
}
Graph by_channel(GraphBuilder& net) {
  return net.finish({net.node("InstanceNormalization", {net.input({2, 130, 130}), net.floats({2}), net.floats({2}, 0.5F, 1.5F)})});
}
Graph by_group(GraphBuilder& net) {
  return net.finish({net.node("GroupNormalization", {net.input({4, 100, 100}), net.floats({4}), net.floats({4}, 0.5F, 1.5F)},
                              {{"num_groups", int64_t{2}}})});
}
Graph by_norm(GraphBuilder& net) { return net.finish({net.node("LpNormalization", {net.input({16500})}, {{"axis", int64_t{-1}}})}); }
Graph tiles(GraphBuilder& net) {
  const ValueId y = net.node("ConvTranspose", {net.input({6, 5, 7}), net.floats({6, 9, 2, 3}), net.floats({9})}, {{"strides", Ints{2, 3}}});
  return net.finish({net.node("Relu", {y})});
}

// Channels that are, and are not, a multiple of a vector, beside each other and above each other.
Graph joined(GraphBuilder& net) {
  const auto picture = [&](int64_t channels) { return net.node("Conv", {net.input({3, 5, 6}), net.floats({channels, 3, 1, 1})}); };
  const ValueId a = picture(8), b = picture(16), c = picture(5);
  return net.finish({net.node("Concat", {a, b, c}, {{"axis", int64_t{1}}}), net.node("Concat", {c, a}, {{"axis", int64_t{1}}}),
                     net.node("Concat", {a, picture(8)}, {{"axis", int64_t{2}}}),
                     net.node("Concat", {c, picture(5)}, {{"axis", int64_t{3}}}),
                     net.node("Concat", {net.input({3, 16}), net.input({4, 16})}, {{"axis", int64_t{1}}})});
}

// What follows a Concat element by element is computed in its kernel: parts of whole vectors, and parts that are not.
Graph joined_and_normalized(GraphBuilder& net) {
  const auto normalized = [&](const Ints& parts) {
    std::vector<ValueId> pictures;
    int64_t channels = 0;
    for (const int64_t count : parts) {
      pictures.push_back(net.node("Conv", {net.input({3, 5, 6}), net.floats({count, 3, 1, 1})}));
      channels += count;
    }
    const ValueId joined = net.node("Concat", pictures, {{"axis", int64_t{1}}});
    const auto numbers = [&] { return net.floats({channels}); };
    return net.node("Relu", {net.node("BatchNormalization", {joined, numbers(), numbers(), numbers(), net.floats({channels}, 0.5F, 2)})});
  };
  return net.finish({normalized({64, 32, 32, 32}), normalized({8, 16, 5}), normalized({5, 8})});
}

// One channel of a convolution, whose pixels take whole vectors, and one that lies densely.
Graph joined_single_channels(GraphBuilder& net) {
  const ValueId made = net.node("Conv", {net.input({3, 5, 6}), net.floats({1, 3, 1, 1})}),
                plain = net.node("Sigmoid", {net.input({1, 5, 6})});
  return net.finish({net.node("Concat", {made, plain}, {{"axis", int64_t{2}}}), net.node("Concat", {plain, made}, {{"axis", int64_t{3}}}),
                     net.node("Concat", {made, plain}, {{"axis", int64_t{1}}}), net.node("Concat", {plain, made}, {{"axis", int64_t{0}}})});
}

// With windows that reach over each edge; convolutions put channels innermost.
Graph pools(GraphBuilder& net) {
  const ValueId x = net.node("Conv", {net.input({3, 9, 10}), net.floats({24, 3, 1, 1})});
  const auto pool = [&](const Ints& kernel, const Ints& strides, const Ints& pads) {
    return net.node("MaxPool", {x}, {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}});
  };
  return net.finish({pool({3, 3}, {2, 2}, {1, 1, 1, 1}), pool({2, 3}, {2, 1}, {0, 1, 0, 1}), pool({5, 5}, {1, 1}, {2, 2, 2, 2})});
}

// More rows than warps that the device holds at once, and rows too long for a warp to keep their scale and bias.
Graph by_row(GraphBuilder& net) {
  const auto normalized = [&](int64_t rows, int64_t count) {
    return net.node("LayerNormalization", {net.input({rows, count}), net.floats({count}, 0.5F, 1.5F), net.floats({count})});
  };
  return net.finish({normalized(2000, 16), normalized(3, 1200)});
}

void try_graphs(const std::vector<Build>& all, const GpuNumbers& numbers, const std::string& precision) {
  Trial trial({numbers, Integers::as_operators}, precision);
  for (size_t i = 0; i < all.size(); ++i) {
    Random random(seed() + i);
    GraphBuilder net(random, 21);
    Graph graph = all[i](net);
    Samples samples = random_samples(random, graph, Trial::batch);
    trial.add("graph " + std::to_string(i), std::move(graph), std::move(samples));
  }
  trial.run(within_tolerance(precision));
  EXPECT_EQ(trial.computed(), all.size());
}

TEST(EmulatedRows, LongOnes) { try_graphs({softmaxes, by_channel, by_group, by_norm, by_row}, {ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedRows, LongOnesInFloat16) {
  try_graphs({softmaxes, by_channel, by_group, by_norm, by_row}, {ComputeType::f16, Element::f16}, "fp16");
}
TEST(EmulatedPools, Float32) { try_graphs({pools}, {ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedPools, Float16) { try_graphs({pools}, {ComputeType::f16, Element::f16}, "fp16"); }
TEST(EmulatedPools, Bfloat16) { try_graphs({pools}, {ComputeType::bf16, Element::bf16}, "bf16"); }
TEST(EmulatedPools, Integers) {
  for (const char* type : {"u8", "s8"}) {
    Trial trial({{ComputeType::f32, Element::f32}, Integers::computed_with}, "int8");
    Random random(seed());
    GraphBuilder net(random, 21);
    const Graph graph = pools(net);
    Samples samples = random_samples(random, graph, Trial::batch);
    trial.add(type, quantized(graph, samples, type), samples);
    trial.run(within_tolerance("int8"));
    EXPECT_EQ(trial.computed(), 1U) << type;
  }
}
TEST(EmulatedConcat, Float32) {
  try_graphs({joined, joined_and_normalized, joined_single_channels}, {ComputeType::f32, Element::f32}, "fp32");
}
TEST(EmulatedConcat, Float16) {
  try_graphs({joined, joined_and_normalized, joined_single_channels}, {ComputeType::f16, Element::f16}, "fp16");
}
TEST(EmulatedTiles, Float32) { try_graphs({tiles}, {ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedTiles, Float16) { try_graphs({tiles}, {ComputeType::f16, Element::f16}, "fp16"); }

}  // namespace
}  // namespace deepgap::gpu
