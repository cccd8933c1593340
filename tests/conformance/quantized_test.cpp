// INT8: quantized files, where an engine takes them. Every network is quantized by deepgap's own quantizer with ranges from the samples it
// is then asked about, and what an engine answers is compared with the reference interpreter's answer to the same quantized network.
#include "blame.h"
#include "known_faults.h"
#include "operator_cases.h"
#include "quantizing.h"
#include "random_network.h"
#include "rig.h"
#include "tolerance.h"

#include "model/eval/evaluator.h"
#include "model/weights/seeded.h"
#include "model/zoo/zoo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace deepgap::conformance {
namespace {

class Quantized : public testing::Test {
 protected:
  // False where there is nothing that INT8 would be for, or the engine refuses: `skipped` says what.
  // `tried`: the operator that this network is for, if for one.
  bool expect_right(const Graph& graph, Random& random, std::string& skipped, const std::string& tried = "",
                    const Judge& judge = within_tolerance("int8")) {
    const Samples samples = random_samples(random, graph, 3);
    const auto activations = random.one_of<std::string>({"u8", "s8"});
    const GraphModel model(quantized(graph, samples, activations));
    if (!is_quantized(model.graph())) return skipped = "nothing in it that INT8 would be for", false;
    const Support support = supports("int8", model.summary());
    if (!support.ok) return skipped = backend().name() + " does not run int8: " + support.reason, false;
    Rig rig(model, {1, 3}, 1, 2, "int8");
    rig.stage(samples);
    for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{2, 0, 1}, {1}}) {
      const Status status = rig.run(0, chosen);
      const std::vector<Tensor> expected = reference(model.graph(), samples, chosen);
      const Difference wrong =
          status == Status::ok ? judge(expected, rig.session->outputs(0)) : Difference{Difference::Kind::failure, rig.last_error()};
      if (wrong.none()) continue;
      const std::string known = tried.empty() ? "" : known_fault(backend().name(), "int8", graph, tried, wrong);
      if (!known.empty()) return skipped = known + ": " + wrong.words, false;
      SCOPED_TRACE(fmt::format("{}, batch {}, {}", activations, chosen.size(), describe(graph)));
      return skipped = blame(wrong, expected, judge), false;
    }
    return !HasFailure();
  }
};

class QuantizedOperators : public Quantized, public testing::WithParamInterface<OperatorCase> {};

TEST_P(QuantizedOperators, EqualTheEvaluator) {
  const OperatorCase& one = GetParam();
  std::string skipped;
  for (int number = 0; number < std::max(1, rounds() / 3); ++number) {
    Random random(seed_of(one.op, number));
    SCOPED_TRACE(fmt::format("--seed {} round {}", seed(), number));
    GraphBuilder net(random, one.opset);
    const Graph graph = one.build(net);
    if (const std::string missing = not_evaluated(graph); !missing.empty())
      GTEST_SKIP() << "nothing to compare with: the reference interpreter has no operator " << missing;
    if (!expect_right(graph, random, skipped, operator_of(one))) break;
  }
  if (!skipped.empty() && !HasFailure()) GTEST_SKIP() << skipped;
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedOperators, testing::ValuesIn(asked_for(quantizable_cases())), case_name);

TEST_F(Quantized, RandomNetworksEqualTheEvaluator) {
  for (int round = 0; round < rounds(); ++round) {
    Random random(seed() * 7919 + static_cast<uint64_t>(round));
    SCOPED_TRACE(fmt::format("--seed {} round {}", seed(), round));
    const Graph graph = random_network(random);
    if (std::string skipped; !expect_right(graph, random, skipped)) {
      if (!HasFailure()) GTEST_SKIP() << skipped;
      return;
    }
  }
}

// A step of 1/255 that one layer rounds otherwise goes through all layers behind it: no more can be asked than that it is the same network.
TEST_F(Quantized, ZooNetworksAreTheSameNetwork) {
  constexpr double least_db = 10;
  for (const char* name : {"resnet18:width=0.25,classes=10,image=64", "mobilenet_v2:width=0.25,classes=10,image=64"}) {
    ZooOptions options;
    Graph graph = find_zoo_model(name, options)->build(options);
    seed_weights(graph, seed(), "");
    Random random(seed());
    SCOPED_TRACE(fmt::format("{} --seed {}", name, seed()));
    if (std::string skipped; !expect_right(graph, random, skipped, "", same_network(least_db))) {
      if (!HasFailure()) GTEST_SKIP() << skipped;
      return;
    }
  }
}

}  // namespace
}  // namespace deepgap::conformance
