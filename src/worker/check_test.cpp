#include "worker/check.h"

#include "base/test_model.h"
#include "worker/node_verdict.h"
#include "worker/quantized_model.h"
#include "worker/saturation_note.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace deepgap {
namespace {

Tensor tensor(const std::vector<float>& values, Shape shape) {
  Tensor result = make_tensor(DataType::f32, std::move(shape));
  std::copy(values.begin(), values.end(), writable<float>(result).begin());
  return result;
}
Tensor row(const std::vector<float>& values) { return tensor(values, {1, static_cast<int64_t>(values.size())}); }

CheckResult compare(const Tensor& expected, const Tensor& actual, double asked = 60) {
  OutputComparison comparison;
  comparison.add(0, expected.view(), actual.view());
  return comparison.result(asked);
}

TEST(Check, equal_outputs_have_300_db) {
  const CheckResult result = compare(row({1, -2, 3}), row({1, -2, 3}));
  EXPECT_EQ(result.sqnr_db, 300);
  EXPECT_EQ(result.max_abs_error, 0);
  EXPECT_EQ(result.samples, 1);
  EXPECT_TRUE(result.pass);
}

TEST(Check, errors_are_as_computed_by_hand) {
  // reference power 3^2 + 4^2 = 25, error power 0.3^2 + 0.4^2 = 0.25: 20 dB
  const CheckResult result = compare(row({3, 4}), row({3.3F, 3.6F}), 20.1);
  EXPECT_NEAR(result.sqnr_db, 20.0, 1e-4);
  EXPECT_NEAR(result.max_abs_error, 0.4, 1e-6);
  EXPECT_NEAR(result.mean_abs_error, 0.35, 1e-6);
  EXPECT_FALSE(result.pass);
  EXPECT_TRUE(compare(row({3, 4}), row({3.3F, 3.6F}), 19.9).pass);
}

TEST(Check, a_large_output_does_not_hide_a_wrong_one) {
  OutputComparison comparison;
  comparison.add(0, row({10'000, 20'000}).view(), row({10'000, 20'000}).view());
  comparison.add(1, row({0, 1}).view(), row({1, 0}).view());
  comparison.add(2, row({0, 0}).view(), row({1e-6F, 0}).view());  // has no SQNR of its own
  const CheckResult result = comparison.result(20);
  EXPECT_FALSE(result.pass);
  EXPECT_NEAR(result.sqnr_db, 10 * std::log10(1.0 / 2.0), 1e-6);
}

TEST(Check, adds_up_over_samples_and_outputs) {
  OutputComparison comparison;
  comparison.add(0, row({1, 2}).view(), row({1, 2}).view());
  comparison.add(1, row({5, 0}).view(), row({5, 0}).view());
  comparison.add(0, row({1, 2}).view(), row({2, 1}).view());
  comparison.add(1, row({5, 0}).view(), row({5, 0}).view());
  const CheckResult result = comparison.result(60);
  EXPECT_EQ(result.samples, 2);
  EXPECT_DOUBLE_EQ(*result.top1_agreement, 0.75);
  EXPECT_NEAR(result.sqnr_db, 10 * std::log10(10.0 / 2.0), 1e-9) << "of the worst output";
}

TEST(Check, what_is_not_finite_fails_whatever_is_asked) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(compare(row({1, 2}), row({1, nan}), -1000).pass);
  EXPECT_FALSE(compare(row({1, 2}), row({inf, 2}), -1000).pass);
  EXPECT_FALSE(compare(row({1, inf}), row({1, -inf}), -1000).pass);
  EXPECT_TRUE(compare(row({1, nan, inf}), row({1, nan, inf})).pass);
}

TEST(Check, a_reference_of_zeros_forgives_nothing) {
  EXPECT_TRUE(compare(row({0, 0}), row({0, 0})).pass);
  EXPECT_FALSE(compare(row({0, 0}), row({0, 1e-6F})).pass);
}

TEST(Check, nothing_compared_is_no_pass) { EXPECT_FALSE(OutputComparison().result(10).pass); }

TEST(Check, another_shape_or_type_is_an_error_that_names_both) {
  OutputComparison comparison;
  try {
    comparison.add(2, row({1, 2}).view(), row({1, 2, 3}).view());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "output 2 is float32[1,3], the reference is float32[1,2]");
  }
  EXPECT_THROW(comparison.add(0, row({1}).view(), make_tensor(DataType::i32, {1, 1}).view()), Error);
}

TEST(Check, half_and_whole_numbers_are_read_as_what_they_are) {
  Tensor half = make_tensor(DataType::f16, {2}), brain = make_tensor(DataType::bf16, {2}), whole = make_tensor(DataType::i64, {2});
  writable<uint16_t>(half)[0] = 0x3C00;  // 1
  writable<uint16_t>(half)[1] = 0xC000;  // -2
  writable<uint16_t>(brain)[0] = 0x3F80;
  writable<uint16_t>(brain)[1] = 0xC000;
  writable<int64_t>(whole)[0] = 1;
  writable<int64_t>(whole)[1] = -2;
  for (const Tensor& reference : {half, brain, whole}) {
    Tensor zero = make_tensor(reference.type, {2});
    std::fill_n(writable<std::byte>(zero).data(), zero.bytes(), std::byte{0});
    const CheckResult result = compare(reference, zero);
    EXPECT_NEAR(result.sqnr_db, 0, 1e-9) << name_of(reference.type);
    EXPECT_EQ(result.max_abs_error, 2);
  }
}

TEST(Check, precisions_ask_for_what_the_method_says) {
  EXPECT_EQ(min_sqnr_db(Precision::fp32), 60);
  EXPECT_EQ(min_sqnr_db(Precision::tf32), 20);
  EXPECT_EQ(min_sqnr_db(Precision::bf16), 20);
  EXPECT_EQ(min_sqnr_db(Precision::int8), 10);
}

TEST(Check, a_failed_result_names_its_criterion_with_limit_and_value) {
  CheckResult result{.against = "native fp32 reference", .samples = 1, .max_abs_error = 0.609, .sqnr_db = 7.25, .min_sqnr_db = 10};
  EXPECT_EQ(mismatch_words(result, Precision::int8),
            "outputs differ from the native fp32 reference: SQNR 7.2 dB, int8 asks for 10 dB (largest error 0.609)");
  result.sqnr_db = 9.998;
  EXPECT_EQ(mismatch_words(result, Precision::int8),
            "outputs differ from the native fp32 reference: SQNR 9.998 dB, int8 asks for 10 dB (largest error 0.609)");
  result.min_sqnr_db = 20;
  EXPECT_NE(mismatch_words(result, Precision::int8).find("int8 asks for 20 dB"), std::string::npos) << "what was asked, not what is usual";
  result.max_abs_error = std::numeric_limits<double>::infinity();
  EXPECT_EQ(mismatch_words(result, Precision::int8),
            "outputs differ from the native fp32 reference: NaN or infinity where the reference is finite");
  const std::vector<NodeCheck> nodes{{.name = "a", .op = "Conv", .sqnr_db = 31}, {.name = "b", .op = "Conv", .sqnr_db = 18.5}};
  EXPECT_EQ(failed_nodes_words(nodes, "native fp32 reference", Precision::int8, 20),
            "node b (Conv), alone on the inputs of the native fp32 reference: SQNR 18.5 dB, int8 asks for 20 dB of every node");
  EXPECT_TRUE(failed_nodes_words(nodes, "r", Precision::int8, 40).ends_with("of every node; 2 of 2 nodes are below that"));
}

TEST(Check, saturation_is_named_where_it_can_be) {
  const DeviceId cpu{"", "cpu", 0}, gpu{"", "cuda", 0};
  const std::string old = "sse4_2 avx f16c fma avx2", vnni = old + " avx_vnni";
  EXPECT_EQ(saturation_note("onnxruntime", cpu, Precision::int8, old),
            "; this CPU has no VNNI, without which onnxruntime sums INT8 products in 16 bits, which saturate");
  EXPECT_EQ(saturation_note("onnxruntime", cpu, Precision::int8, vnni), "");
  EXPECT_EQ(saturation_note("onnxruntime", cpu, Precision::fp32, old), "");
  EXPECT_EQ(saturation_note("onnxruntime", gpu, Precision::int8, old), "");
  EXPECT_EQ(saturation_note("native", cpu, Precision::int8, old), "") << "computes such layers in FP32";
}

class Judged : public TestModel {
 public:
  explicit Judged(DataType type, const std::string& op = "") : TestModel(graph_of(type)) {
    if (!op.empty()) summary_.operators = {{op, "", 3, "q"}};
  }

 private:
  static Graph graph_of(DataType type) {
    Graph graph;
    graph.values = {{"x", DataType::f32, Dims{}}, {"between", type, Dims{}}, {"y", DataType::f32, Dims{}}};
    return graph;
  }
};

TEST(Check, networks_that_round_are_judged_by_how_they_round) {
  const Judged full(DataType::f32), half(DataType::f16), brain(DataType::bf16), quantized(DataType::i8, "QuantizeLinear");
  EXPECT_EQ(judged_precision(Precision::fp32, full), Precision::fp32);
  EXPECT_EQ(judged_precision(Precision::fp32, half), Precision::fp16) << "between inputs and outputs, too";
  EXPECT_EQ(judged_precision(Precision::tf32, brain), Precision::fp16);
  EXPECT_EQ(judged_precision(Precision::bf16, half), Precision::bf16);
  EXPECT_EQ(judged_precision(Precision::fp32, quantized), Precision::int8);
  EXPECT_EQ(judged_precision(Precision::fp32, Judged(DataType::i8, "DequantizeLinear")), Precision::fp32) << "weights alone are integers";
  EXPECT_EQ(judged_precision(Precision::fp32, TestModel()), Precision::fp32);
}

}  // namespace
}  // namespace deepgap
