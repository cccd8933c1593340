// Networks lowered without a GPU: every step has a kernel, and every kernel's text compiles.
#include "engine/gpu/lowering.h"
#include "cuda/compiler.h"
#include "engine/gpu/fusion.h"
#include "engine/passes/passes.h"
#include "engine/passes/test_graphs.h"
#include "model/graph_tools.h"
#include "model/weights/seeded.h"
#include "model/zoo/zoo.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace deepgap::gpu {
namespace {

using testing::GraphBuilder;

Graph network(const std::string& name, Element stored) {
  ZooOptions options;
  Graph graph = find_zoo_model(name, options)->build(options);
  seed_weights(graph, 1, "");
  const FusionRules rules = gpu_fusion_rules(Integers::as_operators, stored);
  optimize_unbound(graph, rules);
  return bound_graph(graph, 2, rules);
}

GpuPlan lowered(const std::string& name, const GpuNumbers& numbers) {
  return Lowering(network(name, numbers.stored), numbers, Chip{}).lower();
}

void expect_compiles(const std::string& name, const GpuNumbers& numbers) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  std::set<std::string> sources;
  for (const Step& step : lowered(name, numbers).steps)
    for (const Launch& launch : step.launches) {
      if (!sources.insert(launch.source.substr(launch.source.find("extern"))).second) continue;
      try {
        cuda::compile(launch.source, Chip{}.target());
      } catch (const Error& error) {
        ADD_FAILURE() << name << ", " << step.op << " " << step.name << ": " << error.what() << "\n" << launch.source;
        return;
      }
    }
}

TEST(GpuLowering, EveryConvolutionOfAResNetIsAChoice) {
  const GpuPlan plan = lowered("resnet18:width=0.25,image=64", {ComputeType::f16, Element::f16});
  int choices = 0;
  for (const Step& step : plan.steps) choices += step.choice ? 1 : 0;
  EXPECT_EQ(choices, 21);  // 20 convolutions and the classifier
  EXPECT_EQ(plan.macs.size(), 1U);
  EXPECT_EQ(plan.macs.begin()->first, "fp16");
}

TEST(GpuLowering, KernelsOfNetworksCompile) {
  expect_compiles("resnet18:width=0.25,image=64", {ComputeType::f16, Element::f16});
  expect_compiles("mobilenet_v3_small:width=0.5,image=64", {ComputeType::bf16, Element::bf16});
  expect_compiles("shufflenet_v2:width=0.5,image=64", {ComputeType::f32, Element::f32});
  expect_compiles("ssd_mobilenet_v1", {ComputeType::f16, Element::f16});
}

// Steps of one operator, compiled.
void expect_in_registers(const std::string& name, const GpuNumbers& numbers, const std::string& op) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  int count = 0;
  for (const Step& step : lowered(name, numbers).steps)
    for (const Launch& launch : step.launches) {
      if (launch.entry.find(op) == std::string::npos || count > 0) continue;  // layers are alike
      const cuda::KernelResources taken = cuda::resources_of(cuda::compile(launch.source, Chip{}.target()));
      EXPECT_EQ(taken.spill_bytes + taken.stack_bytes, 0) << step.name << ", " << taken.registers << " registers";
      count++;
    }
  EXPECT_GT(count, 0) << name << " has no " << op;
}

// x -> Mul -> Conv -> GlobalAveragePool -> Flatten -> MatMul -> Sigmoid: what a product reads is rounded, once moved, too.
TEST(GpuLowering, Tf32RoundsWhatProductsRead) {
  const auto rounds = [](const GpuPlan& plan, const std::string& op) {
    for (const Step& step : plan.steps) {
      if (step.op != op) continue;
      if (step.choice) {
        const auto& steps = step.choice->problem.epilogue.steps;
        return std::any_of(steps.begin(), steps.end(),
                           [](const EpilogueStep& one) { return one.text.find("rounded_to_tf32") != std::string::npos; });
      }
      for (const Launch& launch : step.launches) {
        const std::string kernel = launch.source.substr(launch.source.find("extern"));
        if (kernel.find("rounded_to_tf32(") != std::string::npos) return true;
      }
      return false;
    }
    ADD_FAILURE() << "no step " << op;
    return false;
  };
  const auto plan_in = [](ComputeType compute) {
    GraphBuilder b;
    const ValueId x = b.input({2, 8, 6, 6});
    const ValueId scaled = b.node("Mul", {x, b.constant(testing::floats({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8}))});
    const ValueId pooled = b.node("GlobalAveragePool", {b.conv(scaled, 8, 8, 3)});
    const ValueId flat = b.node("Flatten", {pooled});
    const ValueId product = b.node("MatMul", {flat, b.constant(testing::floats({8, 8}, std::vector<float>(64, 0.1F)))});
    return Lowering(b.finish({b.node("Sigmoid", {product})}), {compute, Element::f32}, Chip{}).lower();
  };
  const GpuPlan plan = plan_in(ComputeType::tf32);
  EXPECT_TRUE(rounds(plan, "Mul"));
  EXPECT_FALSE(rounds(plan, "Conv"));  // a pool reads it
  EXPECT_TRUE(rounds(plan, "GlobalAveragePool"));
  EXPECT_FALSE(rounds(plan, "MatMul"));
  EXPECT_FALSE(rounds(plan, "Sigmoid"));
  EXPECT_FALSE(rounds(plan_in(ComputeType::f32), "Mul"));
}

TEST(GpuLowering, DepthwiseConvolutionsStayInFP32WhereOthersAreInTf32) {
  GraphBuilder b;
  const ValueId x = b.input({2, 8, 6, 6});
  const ValueId halved = b.node("Mul", {x, b.constant(testing::floats({}, {0.5F}))});
  const ValueId weights = b.constant(testing::floats({8, 1, 3, 3}, std::vector<float>(72, 0.1F)));
  const ValueId alone = b.node("Conv", {halved, weights}, {{"group", int64_t{8}}});
  const GpuPlan plan = Lowering(b.finish({b.conv(alone, 8, 8, 1)}), {ComputeType::tf32, Element::f32}, Chip{}).lower();
  std::vector<ComputeType> computes;
  for (const Step& step : plan.steps) {
    if (step.choice) computes.push_back(step.choice->problem.compute);
    if (step.op == "Mul")
      EXPECT_EQ(step.launches.at(0).source.substr(step.launches[0].source.find("extern")).find("rounded_to_tf32"), std::string::npos);
  }
  EXPECT_EQ(computes, (std::vector{ComputeType::f32, ComputeType::tf32}));
}

TEST(GpuLowering, AttentionKeepsItsSumsInRegisters) {
  expect_in_registers("vit_b_16:width=0.09", {ComputeType::f16, Element::f16}, "attention");
  expect_in_registers("bert_base:width=0.09,sequence=128", {ComputeType::bf16, Element::bf16}, "attention");
}

// Attention reads query, key and value where their common product wrote them.
TEST(GpuLowering, PartsThatAreReadInPlaceAreNotCopied) {
  for (const Step& step : lowered("vit_b_16:width=0.09", {ComputeType::f16, Element::f16}).steps) EXPECT_NE(step.op, "Split") << step.name;
}

TEST(GpuLowering, QueryKeyAndValueAreOneProduct) {
  int products = 0;
  for (const Step& step : lowered("bert_base:width=0.09,sequence=128", {ComputeType::f16, Element::f16}).steps) {
    EXPECT_NE(step.op, "Split") << step.name;
    products += step.choice ? 1 : 0;
  }
  EXPECT_EQ(products, 12 * 4 + 1);  // each layer: query, key and value; output; two of the network between; at the end the answers' one
}

// Tables are kept as what is picked from them is, so that neighbours are read together.
TEST(GpuLowering, RowsOfATableArePickedManyNumbersAtOnce) {
  int gathers = 0;
  for (const Step& step : lowered("bert_base:width=0.09,sequence=128", {ComputeType::f16, Element::f16}).steps) {
    if (step.op != "Gather") continue;
    ++gathers;
    EXPECT_NE(step.launches.at(0).source.find("*(uint4*)(out"), std::string::npos) << step.name;
  }
  EXPECT_GT(gathers, 0);
}

// A DenseNet's normalizations come before convolutions, so each is a step of its own, with the Concat before it where there is one.
TEST(GpuLowering, NormalizationsReadPartsSideBySideManyNumbersAtOnce) {
  int joined = 0, normalized = 0;
  for (const Step& step : lowered("densenet121:image=64", {ComputeType::f16, Element::f16}).steps) {
    if (step.op != "Concat" && step.op != "Mul") continue;
    (step.op == "Concat" ? joined : normalized) += 1;
    const std::string& source = step.launches.at(0).source;
    EXPECT_NE(source.find("*(uint4*)(out"), std::string::npos) << step.name << "\n" << source;
    EXPECT_NE(source.find("< 0.0f ? 0.0f"), std::string::npos) << step.name;
  }
  EXPECT_EQ(joined, 58);     // one for each layer of the four blocks but the first, and one behind each block
  EXPECT_EQ(normalized, 4);  // the first of each block
}

// All of the zoo, when asked: kernels of some hundred texts take minutes.
TEST(GpuLowering, TheZooIsLowered) {
  if (std::getenv("DEEPGAP_LONG_TESTS") == nullptr) GTEST_SKIP() << "long: set DEEPGAP_LONG_TESTS=1";
  for (const std::string& name : zoo_names()) {
    try {
      expect_compiles(name, {ComputeType::f16, Element::f16});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused) << name << ": " << error.what();
      std::printf("%s: %s\n", name.c_str(), error.what());
    }
  }
}

}  // namespace
}  // namespace deepgap::gpu
