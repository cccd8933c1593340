// Against this toolchain's <random> and std::shuffle, which the numbers are defined by (libstdc++ 11 and later).
#include "mlperf/loadgen/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace deepgap {
namespace {

TEST(LoadgenRandom, OnlyTheLowHalfOfASeedMatters) {
  LoadgenRandom whole(0x123456789abcdef0), low(0x9abcdef0), other(0x9abcdef1);
  const uint32_t first = whole.next();
  EXPECT_EQ(first, low.next());
  EXPECT_NE(first, other.next());
  // The standard's own check value: the 10000th word of the default seed.
  LoadgenRandom standard(5489);
  for (int i = 1; i < 10000; ++i) standard.next();
  EXPECT_EQ(standard.next(), 4123659995U);
}

TEST(LoadgenRandom, BelowIsUniformIntDistribution) {
  for (const uint64_t n : {1ULL, 2ULL, 3ULL, 1000ULL, 65536ULL, 3000000000ULL, 4294967295ULL}) {
    LoadgenRandom ours(7);
    std::mt19937 words(7);
    std::uniform_int_distribution<uint64_t> theirs(0, n - 1);
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(ours.below(static_cast<uint32_t>(n)), theirs(words)) << n;
  }
}

TEST(LoadgenRandom, DoublesAreThoseOfTheLibrary) {
  LoadgenRandom ours(9), gaps(11);
  std::mt19937 words(9), gap_words(11);
  std::uniform_real_distribution<double> uniform;
  std::exponential_distribution<double> exponential(777.25);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(ours.canonical(), uniform(words));
    ASSERT_EQ(gaps.exponential(777.25), exponential(gap_words));
  }
}

TEST(LoadgenRandom, ShufflesAsTheLibraryAndSkipsAsManyWords) {
  for (const size_t n : {0, 1, 2, 3, 4, 5, 1023, 1024, 65535, 65536, 70001}) {
    std::vector<uint32_t> ours(n);
    std::iota(ours.begin(), ours.end(), 0U);
    std::vector<uint32_t> theirs = ours;
    LoadgenRandom stream(13), skipped(13);
    std::mt19937 words(13);
    stream.shuffle(ours);
    std::shuffle(theirs.begin(), theirs.end(), words);
    ASSERT_EQ(ours, theirs) << n;
    skipped.skip_shuffle(n);
    const uint32_t next = stream.next();
    EXPECT_EQ(next, words()) << n;
    EXPECT_EQ(next, skipped.next()) << n;
  }
}

}  // namespace
}  // namespace deepgap
