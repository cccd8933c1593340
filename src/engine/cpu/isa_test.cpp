// Instructions are chosen once a process, so the tests of each ISA run in a process of its own: DEEPGAP_TEST_ISA names it (CMakeLists.txt).
#include "engine/cpu/isa.h"

#include "engine/cpu/network.h"
#include "engine/cpu/saturation.h"
#include "engine/passes/test_quantized_graphs.h"
#include "model/eval/evaluator.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace deepgap {
namespace {

using testing::floats;
using testing::QuantizedBuilder;

class TestedIsa : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* wanted = std::getenv("DEEPGAP_TEST_ISA");
    if (wanted == nullptr) return;
    if (const auto reason = isa_refusal(wanted); !reason.empty()) {
      std::cout << "SKIPPED: " << reason << std::endl;
      std::exit(0);
    }
    limit_isa(wanted);
    std::cout << "computing with " << isa_description() << std::endl;
  }
};
[[maybe_unused]] const auto* const environment = ::testing::AddGlobalTestEnvironment(new TestedIsa);

TEST(Isa, NamesWhatItLacks) {
  EXPECT_EQ(isa_refusal("auto"), "");
  EXPECT_EQ(isa_refusal("mmx"), "native: option isa=mmx is not one of auto, avx2, avx512, avx512_vnni, avx512_bf16, amx");
  const auto here = available_isas();
  for (const auto& name : isa_names()) {
    if (name == "auto") continue;
    const bool has = std::find(here.begin(), here.end(), name) != here.end();
    EXPECT_EQ(isa_refusal(name).empty(), has) << isa_refusal(name);
  }
}

TEST(Isa, StaysForTheProcess) {
  const char* wanted = std::getenv("DEEPGAP_TEST_ISA");
  const std::string mine = wanted == nullptr ? "auto" : wanted;
  limit_isa(mine);
  limit_isa(mine);
  for (const auto& other : available_isas()) {
    if (other != mine) {
      EXPECT_THROW(limit_isa(other), Error);
    }
  }
  EXPECT_FALSE(isa_description().empty());
}

TEST(Saturation, IsSeenFromTheWeights) {
  const auto weights = [](const std::vector<int>& values) {
    return testing::integer_tensor(DataType::i8, {2, static_cast<int64_t>(values.size() / 2)}, values);
  };
  EXPECT_FALSE(can_saturate(weights({64, 64, 64, -64, -64, -64}), 0, DataType::u8));
  EXPECT_TRUE(can_saturate(weights({64, 1, 65, 0, 0, 0}), 0, DataType::u8));
  EXPECT_FALSE(can_saturate(weights({127, 1, 0, 0, 0, 127}), 0, DataType::u8));  // one channel each
  EXPECT_FALSE(can_saturate(weights({127, 1, 0, 0, 0, 127}), 1, DataType::u8));  // (127 + 0) * 255 is no more than 32767
  EXPECT_TRUE(can_saturate(weights({-64, -65, 0, 0, 0, 0}), 0, DataType::u8));
  EXPECT_TRUE(can_saturate(weights({1, 1, 1, 1, 1, 1}), 0, DataType::i8));
}

// The largest weights on the largest inputs, whose pairs do not fit into 16 bits.
void expect_exact(int weight, DataType type) {
  QuantizedBuilder b;
  const testing::Grid source{1.0F, 0, type}, target{200.0F, 0, DataType::u8};
  const ValueId x = b.through(b.input({1, 32, 5, 5}), source);
  const ValueId w =
      b.node("DequantizeLinear", {b.constant(testing::integer_tensor(DataType::i8, {16, 32, 3, 3}, std::vector<int>(16 * 32 * 9, weight))),
                                  b.constant(floats({}, {0.01F}))});
  const std::map<std::string, Attribute> kernel{{"kernel_shape", std::vector<int64_t>{3, 3}}};
  const ValueId flat = b.node("Flatten", {x});
  const ValueId v = b.node(
      "DequantizeLinear",
      {b.constant(testing::integer_tensor(DataType::i8, {800, 16}, std::vector<int>(800 * 16, weight))), b.constant(floats({}, {0.01F}))});
  const Graph graph =
      b.finish({b.node("Conv", {x, w}, kernel), b.node("MatMul", {flat, v}), b.quantize(b.node("Conv", {x, w}, kernel), target)});
  const float largest = type == DataType::u8 ? 255.0F : 127.0F;
  const std::vector<Tensor> inputs{floats({1, 32, 5, 5}, std::vector<float>(800, largest))};
  const auto expected = evaluate(graph, inputs);
  Network network(graph, {{1}, 2, false}, Integers::computed_with);
  std::vector<float> conv(144), product(16);
  std::vector<uint8_t> levels(144);
  const std::byte* in[] = {inputs[0].data.get()};
  std::byte* out[] = {reinterpret_cast<std::byte*>(conv.data()), reinterpret_cast<std::byte*>(product.data()),
                      reinterpret_cast<std::byte*>(levels.data())};
  network.run(*network.plan_for(1), in, out);
  EXPECT_NEAR(conv[0] / expected[0].as<float>()[0], 1, 1e-4) << "weight " << weight;
  EXPECT_NEAR(product[0] / expected[1].as<float>()[0], 1, 1e-4) << "weight " << weight;
  EXPECT_NEAR(levels[0], expected[2].as<uint8_t>()[0], 1) << "weight " << weight;
}

TEST(Saturation, DoesNotHappen) {
  for (const int weight : {127, 65, 64, 3, -128}) {
    expect_exact(weight, DataType::u8);
    expect_exact(weight, DataType::i8);
  }
}

}  // namespace
}  // namespace deepgap
