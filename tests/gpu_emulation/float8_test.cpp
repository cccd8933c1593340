// Products in FP8, and what is written in it for them.
#include "trial.h"

#include "../conformance/transformer_layer.h"

#include <gtest/gtest.h>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;

TEST(EmulatedFloat8, FollowsTheReferenceAsFarAsItsNumbersGo) {
  for (const Element stored : {Element::f32, Element::f16}) {
    Trial trial({{stored == Element::f16 ? ComputeType::f16 : ComputeType::f32, stored, true}, Integers::as_operators}, "fp8");
    Random random(seed());
    GraphBuilder net(random, 21);
    Graph graph = transformer_layer(net);
    Samples samples = random_samples(random, graph, Trial::batch);
    trial.add("layer", std::move(graph), std::move(samples));
    trial.run(same_network(20));
    EXPECT_EQ(trial.computed(), 1U);
  }
}

// Rows that are normalised for a product alone are written in bytes; what is added, too, stays as it is.
TEST(EmulatedFloat8, IsKeptWhereProductsAloneReadIt) {
  Random random(seed());
  GraphBuilder net(random, 21);
  const Graph bound = bound_for_trial(transformer_layer(net), Integers::as_operators, Element::f16);
  int bytes = 0;
  for (const Step& step : Lowering(bound, {ComputeType::f16, Element::f16, true}, Chip{}).lower().steps)
    if (step.choice && step.choice->problem.compute == ComputeType::f8) {
      EXPECT_EQ(step.choice->problem.source, Element::e4m3);
      bytes += step.choice->problem.epilogue.target == Element::e4m3 ? 1 : 0;
    }
  EXPECT_EQ(bytes, 1) << "what the Gelu makes";
}

}  // namespace
}  // namespace deepgap::gpu
