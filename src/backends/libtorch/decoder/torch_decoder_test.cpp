// LibTorch's decoder against one written out in double precision, its batches, and what it keeps of weights.
#include "backends/libtorch/decoder/torch_decoder.h"

#include "backends/libtorch/torch_settings.h"
#include "model/decoder/written_decoder.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const std::vector<int64_t> first{3, 14, 15, 9, 26, 5, 35, 8, 9, 7}, second{27, 18, 28}, third{4, 5};

std::vector<float> scores(TorchDecoder& decoder, size_t n) { return {decoder.scores(n).begin(), decoder.scores(n).end()}; }

std::vector<float> scores_alone(const DecoderModel& model, const std::vector<int64_t>& tokens) {
  TorchDecoder decoder(model, at::kFloat, 2);
  decoder.make_cache(1, 32);
  decoder.run(rows_for(tokens, 0));
  return scores(decoder, 0);
}

TEST(TorchDecoder, EveryArchitectureComputesWhatIsWrittenDown) {
  for (const std::string& architecture : decoder_architectures()) {
    const DecoderModel model = small_decoder_model(architecture);
    TorchDecoder decoder(model, at::kFloat, 2);
    decoder.make_cache(1, 32);
    decoder.run(rows_for(first, 0));
    const std::vector<double> wanted = WrittenDecoder(model).scores(first);
    const std::vector<float> found = scores(decoder, 0);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << architecture << " " << i;
    EXPECT_EQ(decoder.best_token(0), std::max_element(wanted.begin(), wanted.end()) - wanted.begin()) << architecture;
  }
}

// Prompts in parts and answers of unlike length, in steps as the session makes them, also where sequences stand in another order.
TEST(TorchDecoder, ASequenceIsTheSameAloneAndInABatchAtOnceAndStepByStep) {
  for (const char* architecture : {"llama", "qwen3", "gpt2"}) {
    const DecoderModel model = small_decoder_model(architecture);
    TorchDecoder decoder(model, at::kFloat, 2);
    decoder.make_cache(4, 32);
    std::vector<DecoderRow> rows = rows_for({first.begin(), first.begin() + 4}, 0);
    const auto of_second = rows_for({second.begin(), second.end() - 1}, 3), of_third = rows_for({third.begin(), third.end() - 1}, 1);
    rows.insert(rows.end(), of_second.begin(), of_second.end());
    rows.insert(rows.end(), of_third.begin(), of_third.end());
    decoder.run(rows);
    rows = {{3, 2, second.back(), true}, {1, 1, third.back(), true}};
    const auto rest = rows_for(first, 0, 4);
    rows.insert(rows.end(), rest.begin(), rest.end());
    decoder.run(rows);
    EXPECT_THAT(scores(decoder, 0), Pointwise(FloatNear(1e-4F), scores_alone(model, second))) << architecture;
    EXPECT_THAT(scores(decoder, 1), Pointwise(FloatNear(1e-4F), scores_alone(model, third))) << architecture;
    EXPECT_THAT(scores(decoder, 2), Pointwise(FloatNear(1e-4F), scores_alone(model, first))) << architecture;
    decoder.run(std::vector<DecoderRow>{{0, 10, 11, true}, {1, 2, 12, true}});
    EXPECT_THAT(scores(decoder, 0), Pointwise(FloatNear(1e-4F), scores_alone(model, {3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 11})))
        << architecture;
    EXPECT_THAT(scores(decoder, 1), Pointwise(FloatNear(1e-4F), scores_alone(model, {4, 5, 12}))) << architecture;
  }
}

TEST(TorchDecoder, QuantizedWeightsAreTheNumbersThatTheyStandFor) {
  for (const WeightType type : {WeightType::f16, WeightType::bf16, WeightType::q8_0, WeightType::q4_1}) {
    DecoderModel seeded = small_decoder_model("llama"), quantized = seeded, plain = seeded;
    seeded.stored_as = type;
    for (auto& [name, weight] : quantized.weights) {
      if (weight.rows == 1) continue;
      Tensor data = make_tensor(DataType::u8, {weight.rows * row_bytes(type, weight.columns)});
      std::vector<float> values(static_cast<size_t>(weight.columns));
      for (int64_t row = 0; row < weight.rows; ++row) {
        auto* bytes = reinterpret_cast<std::byte*>(writable<uint8_t>(data).data()) + row * row_bytes(type, weight.columns);
        std::copy_n(weight.data.as<float>().data() + row * weight.columns, weight.columns, values.begin());
        quantize_row(type, values, bytes);
        dequantize_row(type, bytes, values);
        std::copy(values.begin(), values.end(), writable<float>(plain.weights.at(name).data).begin() + row * weight.columns);
      }
      weight.type = type;
      weight.data = data;
    }
    const std::vector<float> wanted = scores_alone(plain, first);
    EXPECT_EQ(scores_alone(quantized, first), wanted) << format_of(type).name;
    EXPECT_EQ(scores_alone(seeded, first), wanted) << format_of(type).name;
  }
}

TEST(TorchDecoder, HalvesAreHeldAsSuch) {
  const DecoderModel model = small_decoder_model("llama");
  const std::vector<float> wanted = scores_alone(model, first);
  TorchDecoder floats(model, at::kFloat, 2), halves(model, at::kBFloat16, 2);
  EXPECT_EQ(halves.weight_bytes() * 2, floats.weight_bytes());
  EXPECT_EQ(halves.type_shares(), (std::map<std::string, double>{{"bf16", 1.0}}));
  EXPECT_EQ(floats.type_shares(), (std::map<std::string, double>{{"fp32", 1.0}}));
  EXPECT_EQ(halves.cache_bytes(), 0);
  halves.make_cache(2, 17);
  EXPECT_EQ(halves.cache_bytes(), 2 * 17 * kv_bytes_per_token(model.shape));
  halves.run(rows_for(first, 1));
  EXPECT_THAT(scores(halves, 0), Pointwise(FloatNear(0.3F), wanted));
}

TEST(TorchDecoder, WhatDoesNotFitIsOutOfMemory) {
#ifdef DEEPGAP_SANITIZED
  GTEST_SKIP() << "a sanitizer ends a process that asks for too much";
#endif
  TorchDecoder decoder(small_decoder_model("llama"), at::kFloat, 1);
  try {
    decoder.make_cache(1000, int64_t{1} << 40);
    FAIL() << "fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory) << error.what();
  }
}

TEST(TorchGenerate, WhatDoesNotRunIsNamed) {
  const std::vector<DeviceInfo> cpu{{DeviceId{}, "CPU", -1, {}}}, gpu{{DeviceId{"", "cuda", 0}, "GPU", -1, {}}};
  const auto refusal = [](EngineRequest request, const std::vector<DeviceInfo>& devices, const GraphSummary& graph) {
    request.task = Task::generate;
    request.placement.devices = {devices.front().id};
    return torch_support(request, graph, "libtorch", devices).reason;
  };
  GraphSummary decoder, network;
  decoder.operators = {{decoder_op, decoder_domain, 1, "decoder"}};
  network.operators = {{"Relu", "", 1, "a"}};
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    EXPECT_EQ(refusal({.precision = precision}, cpu, decoder), "") << name_of(precision);
    EXPECT_EQ(refusal({.precision = precision}, gpu, decoder), "") << name_of(precision);
  }
  EXPECT_THAT(refusal({}, cpu, network), HasSubstr("needs a decoder: a GGUF file"));
  EXPECT_THAT(refusal({.precision = Precision::int8}, cpu, decoder), HasSubstr("fp32, bf16 or fp16, not in int8"));
  EXPECT_THAT(refusal({.precision = Precision::mixed}, cpu, decoder), HasSubstr("not in mixed"));
  EXPECT_THAT(refusal({.options = {{"cuda_graph", "on"}}}, gpu, decoder), HasSubstr("leave out libtorch.cuda_graph"));
  EXPECT_THROW(refusal({.options = {{"top_k", "3"}}}, cpu, decoder), Error) << "nothing is drawn";
}

}  // namespace
}  // namespace deepgap
