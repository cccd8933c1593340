// Every operator with random shapes and attributes, against the plain evaluator, at a whole and at a partial batch.
#include "operator_cases.h"
#include "rig.h"

#include "model/eval/evaluator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace deepgap::conformance {
namespace {

class Operators : public testing::TestWithParam<OperatorCase> {};

uint64_t seed_of(const std::string& op, int round) {
  uint64_t mixed = seed() * 1'000'003 + static_cast<uint64_t>(round);
  for (const char c : op) mixed = mixed * 131 + static_cast<unsigned char>(c);
  return mixed;
}

// A refusal names the operator and the node, so that a user can find it.
bool names_a_node(const Graph& graph, const std::string& message) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return message.find(node.op) != std::string::npos && message.find(node.name) != std::string::npos;
  });
}

// The first operator that the evaluator does not have, or "".
std::string not_evaluated(const Graph& graph) {
  const std::vector<std::string> known = evaluated_operators();
  for (const Node& node : graph.nodes) {
    if (!std::binary_search(known.begin(), known.end(), node.op)) return node.op;
  }
  return "";
}

TEST_P(Operators, EqualsTheEvaluator) {
  const OperatorCase& one = GetParam();
  for (int round = 0; round < rounds(); ++round) {
    Random random(seed_of(one.op, round));
    SCOPED_TRACE(fmt::format("--seed {} round {}", seed(), round));
    GraphBuilder net(random, one.opset);
    const GraphModel model(one.build(net));
    const Samples samples = random_samples(random, model.graph(), 3);
    if (const std::string missing = not_evaluated(model.graph()); !missing.empty()) {
      GTEST_SKIP() << "nothing to compare with: the plain evaluator has no operator " << missing;
    }
    std::unique_ptr<Rig> rig;
    try {
      rig = std::make_unique<Rig>(model, std::vector<int64_t>{1, 3});
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::refused) << error.what();
      ASSERT_TRUE(names_a_node(model.graph(), error.what())) << error.what();
      ASSERT_FALSE(one.required) << "the zoo's networks need it: " << error.what();
      GTEST_SKIP() << backend().name() << " refuses: " << error.what();
    }
    rig->stage(samples);
    for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{2, 0, 1}, std::vector<uint32_t>{1}}) {
      ASSERT_EQ(rig->run(0, chosen), Status::ok) << rig->session->last_error();
      ASSERT_EQ(difference(reference(model.graph(), samples, chosen), rig->session->outputs(0)), "") << "batch " << chosen.size();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Operators, testing::ValuesIn(operator_cases()), [](const auto& tested) {
  std::string name = tested.param.op;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace deepgap::conformance
