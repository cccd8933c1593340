// Operators that the conformance suite has no cases of, since other engines do not have them.
#include "trial.h"

#include "../conformance/graph_builder.h"

#include "cuda/compiler.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;
using Ints = std::vector<int64_t>;

struct Case {
  const char* name;
  int opset;
  Graph (*build)(GraphBuilder&);
};

ValueId positions(GraphBuilder& net) { return net.constant(int_tensor({0, 3, 1, 2, 5, 4, 4, 2, 0, 1, 1, 6, 2, 3, 0})); }

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"RMSNormalization", 23,
       [](GraphBuilder& net) {
         const ValueId x = net.input({4, 70});
         return net.finish({net.node("RMSNormalization", {x, net.floats({70})}),
                            net.node("RMSNormalization", {x, net.floats({4, 70})}, {{"axis", int64_t{1}}, {"epsilon", 0.01F}})});
       }},
      {"RotaryEmbedding", 23,
       [](GraphBuilder& net) {
         const ValueId heads = net.input({2, 5, 8}), packed = net.input({5, 24});
         const ValueId chosen = net.node("Reshape", {positions(net), net.ints({3, 5})});
         return net.finish(
             {net.node("RotaryEmbedding", {heads, net.floats({3, 5, 4}), net.floats({3, 5, 4})}),
              net.node("RotaryEmbedding", {heads, net.floats({7, 3}), net.floats({7, 3}), chosen},
                       {{"rotary_embedding_dim", int64_t{6}}, {"interleaved", int64_t{1}}}),
              net.node("RotaryEmbedding", {packed, net.floats({7, 4}), net.floats({7, 4}), chosen}, {{"num_heads", int64_t{3}}})});
       }},
      {"Swish", 24,
       [](GraphBuilder& net) {
         return net.finish({net.node("Swish", {net.input({40})}, {{"alpha", 1.5F}})});
       }},
      {"CumProd", 26,
       [](GraphBuilder& net) {
         return net.finish(
             {net.node("CumProd", {net.input({9}), net.constant(number_tensor(DataType::i64, 1))}, {{"exclusive", int64_t{1}}})});
       }},
      {"RoiAlign", 16,
       [](GraphBuilder& net) {
         const ValueId x = net.input({3, 9, 11}), boxes = net.floats({4, 4}, 0, 9), of = net.ints({0, 2, 1, 1});
         const Attributes even{{"output_height", int64_t{3}}, {"output_width", int64_t{2}}, {"sampling_ratio", int64_t{2}}};
         const Attributes whole{{"output_height", int64_t{2}},
                                {"output_width", int64_t{2}},
                                {"spatial_scale", 0.5F},
                                {"mode", std::string("max")},
                                {"coordinate_transformation_mode", std::string("output_half_pixel")}};
         const auto summed = [&](const Attributes& how) {
           return net.node("ReduceSum", {net.node("RoiAlign", {x, boxes, of}, how), net.ints({0})}, {{"keepdims", int64_t{1}}});
         };
         return net.finish({net.node("Add", {summed(even), net.input({3, 3, 2})}), net.node("Add", {summed(whole), net.input({3, 2, 2})})});
       }},
      {"DeformConv", 19,
       [](GraphBuilder& net) {
         return net.finish({net.node(
             "DeformConv", {net.input({4, 7, 8}), net.floats({6, 2, 3, 2}), net.input({24, 4, 8}), net.floats({6}), net.input({12, 4, 8})},
             {{"group", int64_t{2}}, {"offset_group", int64_t{2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 1, 0}}})});
       }},
  };
  return all;
}

void try_all(const GpuNumbers& numbers, const std::string& precision) {
  Trial trial({numbers, Integers::as_operators}, precision);
  for (const Case& one : cases()) {
    Random random(seed());
    GraphBuilder net(random, one.opset);
    Graph graph = one.build(net);
    Samples samples = random_samples(random, graph, Trial::batch);
    trial.add(one.name, std::move(graph), std::move(samples));
  }
  trial.run(within_tolerance(precision));
  EXPECT_EQ(trial.computed(), cases().size());
}

TEST(EmulatedNewerOperators, Float32) { try_all({ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedNewerOperators, Float16) { try_all({ComputeType::f16, Element::f16}, "fp16"); }

TEST(EmulatedNewerOperators, CompileForADevice) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Case& one : cases()) {
    Random random(seed());
    GraphBuilder net(random, one.opset);
    const Graph graph = bound_for_trial(one.build(net), Integers::as_operators);
    for (const Step& step : Lowering(graph, {ComputeType::f16, Element::f16}, Chip{}).lower().steps)
      for (const Launch& launch : step.launches) {
        try {
          cuda::compile(launch.source, Chip{}.target());
        } catch (const Error& error) {
          ADD_FAILURE() << one.name << ": " << error.what();
        }
      }
  }
}

}  // namespace
}  // namespace deepgap::gpu
