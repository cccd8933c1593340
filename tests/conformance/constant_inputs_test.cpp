// Every operator with constants alone for inputs, and each of its outputs there and left out: computed at load or refused, never a crash.
#include "known_faults.h"
#include "operator_cases.h"
#include "rig.h"
#include "tolerance.h"

#include "model/eval/evaluator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

namespace deepgap::conformance {
namespace {

std::optional<std::vector<Tensor>> expected_of(const Graph& graph, const Samples& samples) {
  try {
    return reference(graph, samples, {0, 2});
  } catch (const Error&) {
    return std::nullopt;  // an output that nothing makes, such as statistics without training
  }
}

// A Model of the graph, with an engine that has loaded it and samples.
struct Loaded {
  explicit Loaded(const Graph& graph, const Samples& samples) : model(graph), rig(model, std::vector<int64_t>{2}) { rig.stage(samples); }
  GraphModel model;
  Rig rig;
};

void try_variant(const Graph& graph) {
  SCOPED_TRACE(fmt::format("--seed {} {}", seed(), describe(graph)));
  Random random(seed());
  const Samples samples = random_samples(random, graph, 3);
  const auto expected = expected_of(graph, samples);
  std::unique_ptr<Loaded> loaded;
  try {
    loaded = std::make_unique<Loaded>(graph, samples);
  } catch (const Error& error) {  // such as a Resize that has neither scales nor sizes
    EXPECT_TRUE(error.kind() == ErrorKind::refused || error.kind() == ErrorKind::input) << error.what();
    return;
  }
  const Status status = loaded->rig.run(0, {0, 2});
  if (!expected) return;
  ASSERT_EQ(status, Status::ok) << loaded->rig.last_error();
  EXPECT_EQ(difference(*expected, loaded->rig.session->outputs(0)), "");
}

class ConstantInputs : public testing::TestWithParam<OperatorCase> {};

TEST_P(ConstantInputs, AreComputedOrRefused) {
  if (backend().name() != "native" && backend().name() != "tensorflow" && backend().name() != "xla" &&
      !backend().name().starts_with("libtorch"))
    GTEST_SKIP() << backend().name() << " computes constants by itself: tried are engines that do it by deepgap's passes";
  for (const Graph& graph : constant_variants(GetParam())) try_variant(graph);
}

INSTANTIATE_TEST_SUITE_P(All, ConstantInputs, testing::ValuesIn(asked_for(operator_cases())), case_name);

}  // namespace
}  // namespace deepgap::conformance
