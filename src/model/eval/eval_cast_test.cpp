#include "model/eval/half.h"
#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

Tensor cast_to(int64_t type, const Tensor& x) { return TestNode{"Cast", {{"to", type}}}.run({x}); }

TEST(EvalCast, Numbers) {
  EXPECT_EQ(list<int64_t>(cast_to(7, floats({3}, {1.9f, -1.9f, 1e30f}))), (Ints{1, -1, INT64_MAX}));
  EXPECT_EQ(list<int8_t>(cast_to(3, floats({3}, {200, -200, NAN}))), (std::vector<int8_t>{127, -128, 0}));
  EXPECT_EQ(list_floats(cast_to(1, longs({2}, {3, -4}))), (Floats{3, -4}));
  EXPECT_EQ(list<uint8_t>(cast_to(9, floats({3}, {0, 0.5, -1}))), (std::vector<uint8_t>{0, 1, 1}));
  EXPECT_EQ(list_floats(cast_to(1, flags({2}, {0, 1}))), (Floats{0, 1}));
  EXPECT_EQ(list<double>(cast_to(11, floats({1}, {0.5}))), (std::vector<double>{0.5}));
  EXPECT_THROW(cast_to(8, floats({1}, {0})), Error);
}

TEST(EvalCast, HalvesRoundToEven) {
  // Half: 11 bits of precision, bfloat16: 8.
  EXPECT_EQ(list_floats(cast_to(1, cast_to(10, floats({3}, {2049, 2051, 65519})))), (Floats{2048, 2052, 65504}));
  EXPECT_EQ(list_floats(cast_to(1, cast_to(16, floats({2}, {257, 259})))), (Floats{256, 260}));
  EXPECT_EQ(to_half(65520).bits, 0x7c00);
  EXPECT_EQ(to_half(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_half(0x1p-24f).bits, 1);
  EXPECT_EQ(to_half(0x1p-25f).bits, 0);
  EXPECT_EQ(to_half(0x1.8p-24f).bits, 2);
  EXPECT_TRUE(std::isnan(to_float(to_half(NAN))));
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(NAN))));
}

TEST(EvalCast, EveryHalfSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = to_float(Half{static_cast<uint16_t>(bits)});
    if (!std::isnan(value)) {
      ASSERT_EQ(to_half(value).bits, bits);
    }
  }
}

TEST(EvalQuantize, RoundsToEvenAndSaturates) {
  const Tensor zero = tensor_of<uint8_t>(DataType::u8, {}, {10});
  const Tensor q = TestNode{"QuantizeLinear"}.run({floats({5}, {0, 1, 3, 1000, -1000}), floats({}, {2}), zero});
  EXPECT_EQ(list<uint8_t>(q), (std::vector<uint8_t>{10, 10, 12, 255, 0}));
  const Tensor back = TestNode{"DequantizeLinear"}.run({q, floats({}, {2}), zero});
  EXPECT_EQ(list_floats(back), (Floats{0, 0, 4, 490, -20}));
}

TEST(EvalQuantize, PerChannel) {
  const Tensor zero = tensor_of<int8_t>(DataType::i8, {2}, {0, 1});
  const TestNode quantize{"QuantizeLinear", {{"axis", int64_t{0}}}}, dequantize{"DequantizeLinear", {{"axis", int64_t{0}}}};
  const Tensor q = quantize.run({floats({2, 2}, {1, -2, 10, 300}), floats({2}, {1, 2}), zero});
  EXPECT_EQ(list<int8_t>(q), (std::vector<int8_t>{1, -2, 6, 127}));
  EXPECT_EQ(list_floats(dequantize.run({q, floats({2}, {1, 2}), zero})), (Floats{1, -2, 10, 252}));
}

TEST(EvalQuantize, Defaults) {
  EXPECT_EQ(TestNode{"QuantizeLinear"}.run({floats({1}, {3}), floats({}, {1})}).type, DataType::u8);
  const Tensor bias = tensor_of<int32_t>(DataType::i32, {2}, {100000, -5});
  EXPECT_EQ(list_floats(TestNode{"DequantizeLinear"}.run({bias, floats({}, {0.5})})), (Floats{50000, -2.5}));
  EXPECT_THROW(TestNode{"QuantizeLinear"}.run({floats({2, 3}, Floats(6)), floats({2}, {1, 1})}), Error);
  EXPECT_THROW((TestNode{"QuantizeLinear", {{"block_size", int64_t{2}}}, 21}.run({floats({2}, {1, 2}), floats({}, {1})})), Error);
}

}  // namespace
}  // namespace deepgap
