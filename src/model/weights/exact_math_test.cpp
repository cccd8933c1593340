#include "model/weights/exact_math.h"

#include "stats/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace deepgap {
namespace {

// The known-answer vectors that Random123 publishes for philox4x32-10.
static_assert(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
// FNV-1a's own test vector.
static_assert(stream_of("foobar") == 0x85944171f73967e8);

TEST(Philox, CountersAreInOrder) {
  EXPECT_EQ(philox_block(1, 2, 3), philox4x32({3, 0, 2, 0}, {1, 0}));
  EXPECT_EQ(philox_block(uint64_t{5} << 32, uint64_t{6} << 32, uint64_t{7} << 32), philox4x32({0, 7, 0, 6}, {0, 5}));
  EXPECT_GT(to_unit(0), 0.0);
  EXPECT_LT(to_unit(0xffffffff), 1.0);
}

TEST(ExactMath, Logarithm) {
  EXPECT_EQ(exact_log(1), 0);
  for (double x = 1e-300; x < 1e300; x *= 1.0137)
    ASSERT_NEAR(exact_log(x), std::log(x), 3e-16 * std::max(1e-3, std::fabs(std::log(x)))) << x;
  for (double x = 0.5; x < 2; x += 0.00017) ASSERT_NEAR(exact_log(x), std::log(x), 4e-16 * std::max(1e-2, std::fabs(std::log(x)))) << x;
}

TEST(ExactMath, Sine) {
  EXPECT_EQ(exact_sine_of_turns(0), 0);
  EXPECT_NEAR(exact_sine_of_turns(0.25), 1, 1e-15);
  EXPECT_NEAR(exact_sine_of_turns(1.0 / 12), 0.5, 1e-15);
  EXPECT_NEAR(exact_sine_of_turns(1000.75), -1, 1e-15);
  for (double t = -3; t < 3; t += 0.0007) ASSERT_NEAR(exact_sine_of_turns(t), std::sin(2 * M_PI * (t - std::round(t))), 2e-15) << t;
}

TEST(ExactMath, NormalQuantile) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-15);
  EXPECT_NEAR(normal_quantile(0.001), -3.0902323061678132, 1e-14);
  for (double u = 1e-12; u < 0.5; u *= 1.01) {
    ASSERT_NEAR(0.5 * std::erfc(-normal_quantile(u) / std::sqrt(2.0)) / u, 1, 2e-13) << u;
    ASSERT_NEAR(normal_quantile(1 - u), -normal_quantile(u), 1e-4) << u;
  }
}

TEST(ExactMath, ManyQuantilesHaveTheBitsOfEach) {
  std::vector<double> many{to_unit(0), to_unit(0xffffffff), 0.075, 0.925, std::nextafter(0.075, 0), std::nextafter(0.925, 1), 0.5, 1e-300};
  for (uint64_t block = 0; many.size() < 80'000; ++block)
    for (const uint32_t word : philox_block(1, 2, block)) many.push_back(to_unit(word));
  const std::vector<double> each = many;
  normal_quantiles(many);
  for (size_t i = 0; i < many.size(); ++i) ASSERT_EQ(many[i], normal_quantile(each[i])) << each[i];
}

}  // namespace
}  // namespace deepgap
