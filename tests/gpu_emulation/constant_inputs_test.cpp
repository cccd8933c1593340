// Every operator with constants alone for inputs, and each of its outputs there and left out, as a GPU's engine takes it.
#include "trial.h"

#include "../conformance/operator_cases.h"

#include "engine/gpu/lowering.h"

#include <gtest/gtest.h>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;

bool is_evaluated(const Graph& graph, const Samples& samples) {
  try {
    reference(graph, samples, {0});
    return true;
  } catch (const Error&) {
    return false;  // an output that nothing makes
  }
}

// Where there is no answer to compare with, it must not crash.
void lower(const Graph& graph) {
  try {
    Lowering(bound_for_trial(graph, Integers::as_operators), {ComputeType::f32, Element::f32}, Chip{}).lower();
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
  }
}

TEST(EmulatedConstants, AreComputedOrRefused) {
  Trial trial({{ComputeType::f32, Element::f32}, Integers::as_operators}, "fp32");
  for (const OperatorCase& one : operator_cases()) {
    for (const Graph& graph : constant_variants(one)) {
      Random random(seed());
      Samples samples = random_samples(random, graph, Trial::batch);
      is_evaluated(graph, samples) ? trial.add(one.op, graph, std::move(samples)) : lower(graph);
    }
  }
  trial.run(within_tolerance("fp32"));
  EXPECT_GT(trial.computed(), 0U);
}

}  // namespace
}  // namespace deepgap::gpu
