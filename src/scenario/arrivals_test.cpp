// Properties of the arrival processes. Tests of distributions have a false-alarm rate of 1e-6 each (stated where they stand) and fixed
// seeds, so that they pass or fail for good.
#include "scenario/arrivals.h"

#include "base/temporary_folder.h"
#include "scenario/test_arrivals.h"
#include "scenario/trace_file.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

namespace deepgap {
namespace {

constexpr double alarm = 2.694;  // limit for exponential_distance: exceeded by chance in 1e-6 of cases

TEST(PoissonArrivals, GapsAreExponentialAndIndependent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PoissonArrivals arrivals(1000, seed);
    auto gaps = gaps_of(take_arrivals(arrivals, 20'000));
    for (double& gap : gaps) gap /= 1e6;
    EXPECT_LT(exponential_distance(gaps), alarm) << "seed " << seed;
    // Lag-1 correlation: normal with standard deviation 1/sqrt(n); 4.9 of them are passed in 1e-6 of cases.
    EXPECT_LT(std::abs(neighbours_correlation(gaps)), 4.9) << "seed " << seed;
  }
}

// The test above can fail: uniform gaps, and exponential ones that are 10 % too long.
TEST(PoissonArrivals, TheTestOfGapsSeesOtherDistributions) {
  RandomStream random(1, "other gaps");
  std::vector<double> uniform, longer;
  for (int i = 0; i < 20'000; ++i) {
    uniform.push_back(2 * random.uniform());
    longer.push_back(1.1 * random.exponential());
  }
  EXPECT_GT(exponential_distance(uniform), alarm);
  EXPECT_GT(exponential_distance(longer), alarm);
}

// The number of arrivals must match the rate to within 4.9 standard deviations of the Poisson distribution (1e-6).
TEST(PoissonArrivals, KeepsItsRate) {
  for (const double rate : {0.5, 200.0, 2e6, 1e9}) {
    PoissonArrivals arrivals(rate, 3);
    const double seconds = take_arrivals(arrivals, 100'000).back() / 1e9;
    EXPECT_NEAR(seconds * rate, 100'000, 4.9 * std::sqrt(100'000)) << rate;
  }
}

TEST(PoissonArrivals, AreAFunctionOfTheSeed) {
  PoissonArrivals a(100, 1), same(100, 1), other(100, 2);
  const auto times = take_arrivals(a, 100);
  EXPECT_EQ(times, take_arrivals(same, 100));
  EXPECT_NE(times, take_arrivals(other, 100));
  EXPECT_EQ(times[0], 835'760) << "the same on every machine and in every version";
}

TEST(ConstantArrivals, DoNotDrift) {
  ConstantArrivals arrivals(3);
  const auto times = take_arrivals(arrivals, 3'000'001);
  EXPECT_EQ(times[0], 0);
  EXPECT_EQ(times[1], 333'333'333);
  EXPECT_EQ(times[3'000'000], 1e15) << "a million seconds later";
  ConstantArrivals rare(1e-12);
  EXPECT_EQ(rare.next(), 0);
  EXPECT_EQ(rare.next(), never) << "later than the clock can tell";
}

// By time rescaling the expected arrivals between two arrivals are exponentially distributed with mean 1.
TEST(BurstyArrivals, FixedLengthsGiveTheRateOfEachState) {
  for (const double low_share : {0.0, 0.2}) {
    const BurstSettings settings{1000, 100'000'000, 400'000'000, low_share, false};
    BurstyArrivals arrivals(settings, 5);
    auto times = take_arrivals(arrivals, 20'000);
    for (double& time : times) {
      EXPECT_TRUE(low_share > 0 || std::fmod(time, 500e6) <= 100e6) << "nothing comes in a pause";
      time = expected_until(settings, time);
    }
    EXPECT_LT(exponential_distance(gaps_of(times)), alarm) << low_share;
    EXPECT_NEAR(times.back(), 20'000, 4.9 * std::sqrt(20'000));
  }
}

// Mean and scatter of counts in long stretches.
TEST(BurstyArrivals, MarkovModulatedHasItsRateAndItsScatter) {
  const BurstSettings settings{1000, 100'000'000, 400'000'000, 0.1, true};
  constexpr double stretch_s = 20;
  const double dispersion = markov_dispersion(settings, stretch_s);
  EXPECT_NEAR(markov_dispersion(settings, 1e9), 1 + 2 * 3214.2857 * 3214.2857 * 25 / (156.25 * 12500), 0.01) << "in the long run";
  std::vector<double> counts;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    BurstyArrivals arrivals(settings, seed);
    double count = 0;
    while (static_cast<double>(arrivals.next()) < stretch_s * 1e9) ++count;
    counts.push_back(count);
  }
  double mean = 0, variance = 0;
  for (const double count : counts) mean += count / 400;
  for (const double count : counts) variance += (count - mean) * (count - mean) / 399;
  const double expected = 1000 * stretch_s;
  EXPECT_NEAR(mean, expected, 4.9 * std::sqrt(expected * dispersion / 400));
  EXPECT_NEAR(variance / mean / dispersion, 1, 4.9 * std::sqrt(2.0 / 399));
}

class TraceFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }
  std::string problem(const std::string& text, TraceUnit unit = TraceUnit::s) {
    try {
      check_trace(write(text), unit);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "no error";
  }
  TemporaryFolder folder_;
  std::string path_ = folder_ / "arrivals.txt";
};

TEST_F(TraceFile, SecondsAndNanosecondsFromTheFirstLine) {
  TraceArrivals seconds(write("# when\n1700000000.5\r\n1700000000.75 # second\n\n1700000002"), TraceUnit::s);
  EXPECT_EQ(seconds.next(), 0);
  EXPECT_EQ(seconds.next(), 250'000'000);
  EXPECT_EQ(seconds.next(), 1'500'000'000);
  EXPECT_EQ(seconds.next(), never);
  EXPECT_EQ(seconds.next(), never);
  TraceArrivals exact(write("1700000000000000001\n1700000000000000001\n1700000000000000004\n"), TraceUnit::ns);
  EXPECT_EQ(exact.next(), 0);
  EXPECT_EQ(exact.next(), 0);
  EXPECT_EQ(exact.next(), 3);
  EXPECT_EQ(exact.next(), never);
}

TEST_F(TraceFile, WhatIsWrongIsSaidWithItsLine) {
  using testing::HasSubstr;
  EXPECT_THAT(problem("0\n1\n0.5\n"), HasSubstr("arrivals.txt:3: 0.5 goes back in time"));
  EXPECT_THAT(problem("0\n1e\n"), HasSubstr("arrivals.txt:2: '1e' is not an arrival time"));
  EXPECT_THAT(problem("0\nnan\n"), HasSubstr("arrivals.txt:2:"));
  EXPECT_THAT(problem("inf\n"), HasSubstr("arrivals.txt:1:"));
  EXPECT_THAT(problem("-1\n"), HasSubstr("before time 0"));
  EXPECT_THAT(problem("1e300\n"), HasSubstr("trace_unit=ns"));
  EXPECT_THAT(problem("0.5\n", TraceUnit::ns), HasSubstr("whole nanoseconds"));
  EXPECT_THAT(problem(""), HasSubstr("no arrival"));
  EXPECT_THAT(problem("# nothing\n\n"), HasSubstr("no arrival"));
  EXPECT_THAT(problem(std::string(100'000, '1')), HasSubstr("more than 256 characters"));
  EXPECT_THAT(problem(std::string("0\n\0\xff\x80\n", 5)), HasSubstr("arrivals.txt:2:"));
  EXPECT_THAT(
      [&] {
        try {
          check_trace(folder_.path(), TraceUnit::s);
        } catch (const Error& error) {
          return std::string(error.what());
        }
        return std::string();
      }(),
      HasSubstr("cannot read"));
}

TEST_F(TraceFile, TenMillionLinesAndOneThatIsWrong) {
  std::string text;
  text.reserve(100'000'000);
  for (int i = 0; i < 10'000'000; ++i) text += std::to_string(i) + "\n";
  write(text);
  EXPECT_EQ(check_trace(path_, TraceUnit::ns), 10'000'000);
  std::ofstream(path_, std::ios::app) << "9999998\n";
  try {
    check_trace(path_, TraceUnit::ns);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(":10000001: 9999998 goes back in time"));
  }
}

}  // namespace
}  // namespace deepgap
