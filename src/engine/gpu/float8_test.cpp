#include "engine/gpu/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace deepgap::gpu {
namespace {

TEST(Float8, IsTheNearestWithTiesToEven) {
  EXPECT_EQ(to_e4m3(1), 0x38);
  EXPECT_EQ(to_e4m3(-1.5F), 0xbc);
  EXPECT_EQ(to_e4m3(1.0625F), 0x38) << "half way: to even";
  EXPECT_EQ(to_e4m3(1.1875F), 0x3a) << "half way: to even";
  EXPECT_EQ(to_e4m3(1.96875F), 0x40) << "up to the next exponent";
  EXPECT_EQ(to_e4m3(448), 0x7e);
  EXPECT_EQ(to_e4m3(1e9F), 0x7e);
  EXPECT_EQ(to_e4m3(-std::numeric_limits<float>::infinity()), 0xfe);
  EXPECT_EQ(to_e4m3(std::ldexp(1.0F, -9)), 0x01) << "the least";
  EXPECT_EQ(to_e4m3(std::ldexp(1.0F, -10)), 0x00);
  EXPECT_EQ(to_e4m3(std::ldexp(7.6F, -9)), 0x08) << "up to what is not denormal";
  EXPECT_EQ(to_e4m3(0), 0x00);
  EXPECT_TRUE(std::isnan(from_e4m3(to_e4m3(std::nanf("")))));
}

TEST(Float8, EveryNumberStaysItself) {
  for (int bits = 0; bits < 256; ++bits) {
    const float value = from_e4m3(static_cast<uint8_t>(bits));
    if (!std::isnan(value)) EXPECT_EQ(to_e4m3(value), bits) << value;
  }
}

}  // namespace
}  // namespace deepgap::gpu
