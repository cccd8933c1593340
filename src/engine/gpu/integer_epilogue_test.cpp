// Tests which ends are done the short way, and what they saturate to.
#include "engine/gpu/integer_epilogue.h"

#include <gtest/gtest.h>

#include <limits>

namespace deepgap::gpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

Epilogue to_bytes(std::vector<EpilogueStep> steps) {
  Epilogue epilogue;
  epilogue.steps = std::move(steps);
  epilogue.target = epilogue.residual = Element::i8;
  epilogue.target_inverse = 10;
  epilogue.target_zero = 3;
  return epilogue;
}

TEST(IntegerEpilogue, TakesWhatQuantizedNetworksAskFor) {
  const auto end = integer_epilogue(to_bytes(
      {EpilogueStep::rounded(0.3F, 7, Element::u8), EpilogueStep::of(EpilogueStep::Kind::add), EpilogueStep::clamped(0, infinity)}));
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->adds);
  ASSERT_TRUE(end->round);
  EXPECT_EQ(end->round->zero, 7);
  EXPECT_EQ(end->low, 3);
  EXPECT_EQ(end->high, 127);
}

TEST(IntegerEpilogue, ClampsInWholeNumbers) {
  const auto end = integer_epilogue(to_bytes({EpilogueStep::clamped(-1, 6)}));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->low, -7);
  EXPECT_EQ(end->high, 63);
}

TEST(IntegerEpilogue, LeavesOtherStepsToThePlainWay) {
  EXPECT_FALSE(integer_epilogue(to_bytes({{EpilogueStep::Kind::activation, "tanhf(v)"}})));
  EXPECT_FALSE(integer_epilogue(to_bytes({EpilogueStep::clamped(0, 6), EpilogueStep::of(EpilogueStep::Kind::add)})));
  EXPECT_FALSE(integer_epilogue(to_bytes({EpilogueStep::clamped(50, 60)})));  // nothing is left to distinguish
  EXPECT_FALSE(integer_epilogue(to_bytes({EpilogueStep::rounded(0.5F, 7, Element::u8)}))) << "halves are many";
  Epilogue in_quarters = to_bytes({});
  in_quarters.target_inverse = 4;
  EXPECT_FALSE(integer_epilogue(in_quarters)) << "likewise";
  Epilogue floats;
  EXPECT_FALSE(integer_epilogue(floats));
}

}  // namespace
}  // namespace deepgap::gpu
