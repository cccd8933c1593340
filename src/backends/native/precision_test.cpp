// Tests what the Session computes in, and what it refuses to.
#include "backends/native/native_backend.h"
#include "backends/native/test_network.h"
#include "engine/cpu/isa.h"
#include "engine/passes/test_quantized_graphs.h"
#include "model/eval/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace deepgap {
namespace {

using testing::QuantizedBuilder;
using testing::Samples;
using testing::SummarizedModel;

Graph quantized_net() {
  QuantizedBuilder b;
  const ValueId x = b.through(b.input({-1, 3, 16, 16}), {0.03F, 120});
  const ValueId w = b.quantized_weights({16, 3, 3, 3}, 0, 27);
  const ValueId y = b.through(b.node("Relu", {b.node("Conv", {x, w, b.weights({16})})}), {0.02F, 0});
  const ValueId flat = b.through(b.node("Flatten", {b.node("GlobalAveragePool", {y})}), {0.01F, 0});
  return b.finish({b.node("Gemm", {flat, b.quantized_weights({16, 10}, 1, 16)})});
}

// The first sample's outputs.
std::vector<float> run(Session& session, const Samples& samples) {
  session.stage(samples.views);
  session.enqueue(0, std::vector<uint32_t>{0, 1, 2}, 1);
  session.drain();
  const auto values = session.outputs(0)[0].as<float>();
  return {values.begin(), values.end()};
}

LoadOptions options_for(Precision precision) {
  LoadOptions options;
  options.precision = precision;
  options.batch_sizes = {3};
  options.threads = 2;
  return options;
}

TEST(NativePrecision, Int8OfQuantizedFiles) {
  const SummarizedModel model(quantized_net());
  NativeBackend backend;
  EXPECT_EQ(backend.supports({.precision = Precision::int8}, model.summary()).reason, "");
  const auto first = backend.load(model, options_for(Precision::int8)), second = backend.load(model, options_for(Precision::int8));
  const Samples samples(3, true);
  const auto expected = evaluate(model.graph(), std::vector<Tensor>{samples.block});
  const auto got = run(*first, samples);
  EXPECT_GT(testing::sqnr_db(expected[0], got), 35);  // steps of 0.01 on the way may round otherwise
  EXPECT_EQ(run(*second, samples), got);
  EXPECT_EQ(run(*first, samples), got);
  if (multiplies_integers_exactly()) {
    EXPECT_NEAR(first->precision_shares()["int8"], 1, 1e-9);
  }
  const auto plain = backend.load(model, options_for(Precision::fp32));
  EXPECT_GT(testing::sqnr_db(expected[0], run(*plain, samples)), 35);
  EXPECT_NEAR(plain->precision_shares()["fp32"], 1, 1e-9);
}

bool has_bf16() {
  const auto isas = available_isas();
  return std::find(isas.begin(), isas.end(), "avx512") != isas.end();
}

TEST(NativePrecision, Bf16AndMixed) {
  const SummarizedModel model(testing::small_net());
  if (!has_bf16()) GTEST_SKIP() << "BF16 needs AVX-512";
  NativeBackend backend;
  const Samples samples(3, false);
  const auto expected = evaluate(model.graph(), std::vector<Tensor>{samples.block});
  for (const Precision precision : {Precision::bf16, Precision::mixed}) {
    const auto session = backend.load(model, options_for(precision));
    EXPECT_GT(testing::sqnr_db(expected[0], run(*session, samples)), 35);
    EXPECT_NEAR(session->precision_shares()["bf16"], 1, 1e-9);
  }
}

std::string reason(const Graph& graph, Precision precision, const std::string& option = "", const std::string& value = "") {
  const SummarizedModel model(graph);
  NativeBackend backend;
  LoadOptions options = options_for(precision);
  if (!option.empty()) options.options[option] = value;
  try {
    backend.load(model, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "";
}

TEST(NativePrecision, RefusesWhatItDoesNotDo) {
  EXPECT_EQ(reason(testing::small_net(), Precision::int8),
            "native: precision int8 needs a quantized file, with QuantizeLinear and DequantizeLinear; this one has none");
  EXPECT_EQ(reason(quantized_net(), Precision::bf16).substr(0, 78),
            "native does not do precision bf16 of a quantized file (QuantizeLinear, node Qu");
  const std::string plain = reason(testing::small_net(), Precision::bf16, "path", "plain");
  if (has_bf16()) {
    EXPECT_EQ(plain, "native: precision bf16 is not there with path=plain, which is computed in fp32");
  } else {
    EXPECT_EQ(plain.substr(0, 45), "native does not do precision bf16 on this CPU");
  }
}

}  // namespace
}  // namespace deepgap
