#include "record/timing_block.h"

#include "record/block_bytes.h"
#include "record/example_record.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace deepgap {
namespace {

void expect_same(const std::vector<Timing>& a, const std::vector<Timing>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].query, b[i].query);
    EXPECT_EQ(a[i].scheduled, b[i].scheduled);
    EXPECT_EQ(a[i].begin, b[i].begin);
    EXPECT_EQ(a[i].end, b[i].end);
    EXPECT_EQ(a[i].samples, b[i].samples);
    EXPECT_EQ(a[i].status, b[i].status);
  }
}

template <typename Decode>
bool rejected(const Decode& decode, const std::string& block) {
  try {
    decode(block);
    return false;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::input;
  }
}

TEST(Zigzag, SmallDifferencesAreSmallNumbers) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(static_cast<uint64_t>(-1)), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1}) {
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
}

TEST(Timings, AnyValuesComeBack) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Timing> timings(random() % 50);
    for (Timing& t : timings) {
      const int shift = static_cast<int>(random() % 64);  // numbers of all sizes, the extreme ones too
      t = {random() >> shift,
           static_cast<Nanoseconds>(random()) >> shift,
           static_cast<Nanoseconds>(random()),
           static_cast<Nanoseconds>(random() >> shift),
           static_cast<uint32_t>(random()),
           static_cast<Status>(random() % 3)};
    }
    const std::string block = encode_timings(timings);
    EXPECT_EQ(timing_count(block), static_cast<int64_t>(timings.size()));
    expect_same(decode_timings(block), timings);
  }
}

TEST(Timings, ASteadyRunIsSmall) {
  const auto timings = example_record(1, 10'000).timings;
  EXPECT_LT(encode_timings(timings).size(), timings.size() * 6);
}

TEST(Timings, EveryTruncationAndEveryFlippedBitIsNoticed) {
  const std::string good = encode_timings(example_record(3, 40).timings);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_TRUE(rejected(decode_timings, good.substr(0, size))) << size;
  EXPECT_TRUE(rejected(decode_timings, good + "x"));
  const size_t front = 5;  // tag and count; behind them the frame has a checksum
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      // A frame header has unused bits; whatever passes must still say the same.
      if (!rejected(decode_timings, bad)) {
        ASSERT_GE(i, front);
        expect_same(decode_timings(bad), decode_timings(good));
      }
    }
  }
}

TEST(Timings, ForgedCountsAskForNoMemory) {
  EXPECT_TRUE(rejected(decode_timings, seal_block("DGT1", 19'000'000, "abc")));
  EXPECT_TRUE(rejected(decode_timings, seal_block("DGT1", ~uint64_t{0}, "abc")));
  EXPECT_TRUE(rejected(decode_timings, seal_block("DGT1", 1, std::string(1'000'000, '\0'))));
  EXPECT_TRUE(rejected(decode_timings, seal_block("DGT2", 0, "")));
  EXPECT_TRUE(rejected(decode_timings, encode_series({})));
  EXPECT_TRUE(rejected(decode_timings, ""));
}

TEST(Series, AnyValuesComeBack) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Series> series = example_record(1).series;
  series.push_back({"p", "empty", "1", false, {}, {}});
  series.push_back({"p", "odd", "1", true, {-5, 5}, {-0.0, 0.0}});
  series.push_back({"p", "large", "1", true, {std::numeric_limits<Nanoseconds>::min(), never}, {9007199254740992.0, -9007199254740992.0}});
  series.push_back({"p", "strange", "1", true, {1}, {std::nan("7"), inf, -inf, 1e300, 5e-324}});
  const auto back = decode_series(encode_series(series));
  ASSERT_EQ(back.size(), series.size());
  for (size_t i = 0; i < series.size(); ++i) {
    EXPECT_EQ(back[i].probe, series[i].probe);
    EXPECT_EQ(back[i].name, series[i].name);
    EXPECT_EQ(back[i].unit, series[i].unit);
    EXPECT_EQ(back[i].counter, series[i].counter);
    EXPECT_EQ(back[i].times, series[i].times);
    ASSERT_EQ(back[i].values.size(), series[i].values.size());
    for (size_t k = 0; k < series[i].values.size(); ++k) {
      EXPECT_EQ(std::bit_cast<uint64_t>(back[i].values[k]), std::bit_cast<uint64_t>(series[i].values[k]));
    }
  }
  EXPECT_TRUE(decode_series(encode_series({})).empty());
}

TEST(Series, DamageIsNoticed) {
  const std::string good = encode_series(example_record(3).series);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_TRUE(rejected(decode_series, good.substr(0, size))) << size;
  // Valid compression around wrong content: a text longer than the block, a count of values that is not there.
  ByteWriter long_text;
  long_text.varint(1'000'000);
  EXPECT_TRUE(rejected(decode_series, seal_block("DGS1", 1, long_text.bytes())));
  ByteWriter no_values;
  for (int i = 0; i < 3; ++i) no_values.text("x");
  no_values.byte(0);
  no_values.varint(0);
  no_values.varint(uint64_t{1} << 60);
  no_values.byte(1);
  EXPECT_TRUE(rejected(decode_series, seal_block("DGS1", 1, no_values.bytes())));
}

}  // namespace
}  // namespace deepgap
