// Every operator with random shapes and attributes in every precision, against the reference interpreter.
#include "blame.h"
#include "known_faults.h"
#include "operator_cases.h"
#include "rig.h"
#include "tolerance.h"

#include "model/eval/element_types.h"
#include "model/eval/evaluator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace deepgap::conformance {
namespace {

// A refusal names the operator and the node, so that a user can find it.
bool names_a_node(const Graph& graph, const std::string& message) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return message.find(node.op) != std::string::npos && message.find(node.name) != std::string::npos;
  });
}

// Loads the network, or says what the backend refused; a refusal must be one that a user can act on.
std::unique_ptr<Rig> load(const OperatorCase& one, const GraphModel& model, const std::string& precision, std::string& refusal) {
  try {
    return std::make_unique<Rig>(model, std::vector<int64_t>{1, 3}, 1, 1, precision);
  } catch (const Error& error) {
    refusal = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::refused) << refusal;
    EXPECT_TRUE(names_a_node(model.graph(), refusal) || !known_nameless_refusal(backend().name(), model.graph()).empty()) << refusal;
    EXPECT_FALSE(one.required) << "the zoo's networks need it: " << refusal;
  }
  return nullptr;
}

// An engine in 16 bits rounds what it is given first, and where a result is a small difference of large numbers that alone moves it by more
// than the tolerance: what is right for the rounded samples is right.
Judge judge_of(const Graph& graph, const Samples& samples, const std::vector<uint32_t>& chosen, const std::string& precision) {
  return [=, &graph](const std::vector<Tensor>& expected, std::span<const TensorView> actual) {
    Difference wrong = compare(expected, actual, precision);
    if (wrong.none() || (precision != "bf16" && precision != "mixed" && precision != "fp16")) return wrong;
    const DataType half = precision == "fp16" ? DataType::f16 : DataType::bf16;
    Samples rounded = samples;
    for (std::vector<Tensor>& sample : rounded)
      for (Tensor& tensor : sample)
        if (tensor.type == DataType::f32) tensor = converted(converted(tensor, half), DataType::f32);
    return compare(reference(graph, rounded, chosen), actual, precision).none() ? Difference{} : wrong;
  };
}

// At sizes that were asked for at load, and at one between them that was not: that is right or fails with its reason. Returns the engine's
// fault that explains a difference, or "" with a failure added.
std::string expect_right(Rig& rig, const OperatorCase& one, const GraphModel& model, const Samples& samples, const std::string& precision) {
  rig.stage(samples);
  for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{2, 0, 1}, {1}, {0, 2}}) {
    const bool asked = chosen.size() != 2;
    if (!asked && one.mixes_samples) continue;
    const Status status = rig.run(0, chosen);
    if (status != Status::ok && !asked) {
      EXPECT_NE(rig.last_error(), "");
      continue;
    }
    const Judge judge = judge_of(model.graph(), samples, chosen, precision);
    const std::vector<Tensor> expected = reference(model.graph(), samples, chosen);
    const Difference wrong =
        status == Status::ok ? judge(expected, rig.session->outputs(0)) : Difference{Difference::Kind::failure, rig.last_error()};
    if (wrong.none()) continue;
    const std::string known = known_fault(backend().name(), precision, model.graph(), operator_of(one), wrong);
    if (!known.empty()) return known + ": " + describe(model.graph()) + ": " + wrong.words;
    SCOPED_TRACE(fmt::format("batch {}, {}", chosen.size(), describe(model.graph())));
    return blame(wrong, expected, judge);
  }
  return "";
}

class Operators : public testing::TestWithParam<OperatorCase> {
 protected:
  // False when the rest of the rounds is of no use; `skipped` says why.
  bool round(int number, const std::string& precision, std::string& skipped) {
    const OperatorCase& one = GetParam();
    Random random(seed_of(one.op, number));
    SCOPED_TRACE(fmt::format("--seed {} round {} precision {}", seed(), number, precision));
    GraphBuilder net(random, one.opset);
    const GraphModel model(one.build(net));
    const Samples samples = random_samples(random, model.graph(), 3);
    if (const std::string missing = not_evaluated(model.graph()); !missing.empty()) {
      skipped = "nothing to compare with: the reference interpreter has no operator " + missing;
      return false;
    }
    if (const std::string crash = known_crash(backend().name(), model.graph()); !crash.empty()) {
      skipped = crash + ": " + describe(model.graph());
      return true;
    }
    std::string refusal;
    const auto rig = load(one, model, precision, refusal);
    if (rig == nullptr) {
      skipped = backend().name() + " refuses in " + precision + ": " + refusal;
      return false;
    }
    const std::string fault = expect_right(*rig, one, model, samples, precision);
    if (!fault.empty()) skipped = fault;  // forgiven; the other rounds are right
    return !HasFailure();
  }
};

// All that a precision changes.
bool has_float32(const OperatorCase& one) {
  Random random(seed_of(one.op, 0));
  GraphBuilder net(random, one.opset);
  const Graph graph = one.build(net);
  return std::any_of(graph.values.begin(), graph.values.end(), [](const Value& value) { return value.type == DataType::f32; });
}

TEST_P(Operators, EqualsTheEvaluator) {
  std::string skipped;
  RecordProperty("operator", GetParam().op);
  RecordProperty("opset", GetParam().opset);
  const bool of_float32 = has_float32(GetParam());
  for (const std::string& precision : float_precisions({})) {
    if (precision != "fp32" && !of_float32) continue;
    const int count = precision == "fp32" ? rounds() : std::max(1, rounds() / 3);
    bool refused = false;
    for (int number = 0; number < count && !refused; ++number) refused = !round(number, precision, skipped);
    RecordProperty(precision, refused ? skipped : "ran");  // tools/operators_table.py reads them
  }
  if (!skipped.empty() && !HasFailure()) GTEST_SKIP() << skipped;
}

// An operator that the evaluator has and nobody tries would be one that nobody knows to be right.
TEST(OperatorCases, HaveEveryEvaluatedOperator) {
  std::set<std::string> tried;
  for (const OperatorCase& one : operator_cases()) {
    Random random(seed_of(one.op, 0));
    GraphBuilder net(random, one.opset);
    for (const Node& node : one.build(net).nodes) tried.insert(node.op);
  }
  // Made by other tests: constants by every network, quantization by quantized ones; the rest by the ONNX project's own cases
  // (onnx_suite.py).
  const std::set<std::string> elsewhere{"Constant",
                                        "ConstantOfShape",
                                        "QuantizeLinear",
                                        "DequantizeLinear",
                                        "AffineGrid",
                                        "Attention",
                                        "BitCast",
                                        "BlackmanWindow",
                                        "CausalConvWithState",
                                        "CenterCropPad",
                                        "Col2Im",
                                        "Compress",
                                        "CumProd",
                                        "DFT",
                                        "DeformConv",
                                        "Det",
                                        "HammingWindow",
                                        "HannWindow",
                                        "LinearAttention",
                                        "MaxUnpool",
                                        "MelWeightMatrix",
                                        "NegativeLogLikelihoodLoss",
                                        "OptionalGetElement",
                                        "OptionalHasElement",
                                        "RMSNormalization",
                                        "RoiAlign",
                                        "RotaryEmbedding",
                                        "STFT",
                                        "SoftmaxCrossEntropyLoss",
                                        "SwiGLU",
                                        "Swish",
                                        "TensorScatter",
                                        "TfIdfVectorizer",
                                        "Unique"};
  for (const std::string& op : evaluated_operators()) EXPECT_TRUE(tried.contains(op) || elsewhere.contains(op)) << op;
}

INSTANTIATE_TEST_SUITE_P(All, Operators, testing::ValuesIn(asked_for(operator_cases())), case_name);

}  // namespace
}  // namespace deepgap::conformance
