// Properties of the arrival processes. Tests of distributions have a false-alarm rate of 1e-6 each (stated where they stand) and fixed
// seeds, so that they pass or fail for good.
#include "scenario/arrivals.h"

#include "base/temporary_folder.h"
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

std::vector<double> take(Arrivals& arrivals, size_t count) {
  std::vector<double> times;
  for (size_t i = 0; i < count; ++i) times.push_back(static_cast<double>(arrivals.next()));
  return times;
}

// Kolmogorov and Smirnov's distance between the gaps and the exponential distribution of mean 1, times sqrt(n). Above 2.694 by chance in
// 1e-6 of cases: 2 exp(-2 x^2).
constexpr double alarm = 2.694;
double exponential_distance(std::vector<double> gaps) {
  std::sort(gaps.begin(), gaps.end());
  const auto n = static_cast<double>(gaps.size());
  double distance = 0;
  for (size_t i = 0; i < gaps.size(); ++i) {
    const double expected = 1 - std::exp(-gaps[i]);
    distance = std::max({distance, static_cast<double>(i + 1) / n - expected, expected - static_cast<double>(i) / n});
  }
  return distance * std::sqrt(n);
}

std::vector<double> gaps_of(const std::vector<double>& times) {
  std::vector<double> gaps;
  double previous = 0;
  for (const double time : times) {
    gaps.push_back(time - previous);
    previous = time;
  }
  return gaps;
}

TEST(PoissonArrivals, GapsAreExponentialAndIndependent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PoissonArrivals arrivals(1000, seed);
    auto gaps = gaps_of(take(arrivals, 20'000));
    for (double& gap : gaps) gap /= 1e6;
    EXPECT_LT(exponential_distance(gaps), alarm) << "seed " << seed;
    // Lag-1 correlation: normal with standard deviation 1/sqrt(n); 4.9 of them are passed in 1e-6 of cases.
    double sum = 0;
    for (size_t i = 1; i < gaps.size(); ++i) sum += (gaps[i] - 1) * (gaps[i - 1] - 1);
    EXPECT_LT(std::abs(sum) / std::sqrt(static_cast<double>(gaps.size())), 4.9) << "seed " << seed;
  }
}

// That the test above can fail: uniform gaps, and exponential ones that are 10 % too long.
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

// As many arrivals as the rate says, to within 4.9 standard deviations of the Poisson distribution (1e-6).
TEST(PoissonArrivals, KeepsItsRate) {
  for (const double rate : {0.5, 200.0, 2e6, 1e9}) {
    PoissonArrivals arrivals(rate, 3);
    const double seconds = take(arrivals, 100'000).back() / 1e9;
    EXPECT_NEAR(seconds * rate, 100'000, 4.9 * std::sqrt(100'000)) << rate;
  }
}

TEST(PoissonArrivals, AreAFunctionOfTheSeed) {
  PoissonArrivals a(100, 1), same(100, 1), other(100, 2);
  const auto times = take(a, 100);
  EXPECT_EQ(times, take(same, 100));
  EXPECT_NE(times, take(other, 100));
  EXPECT_EQ(times[0], 835'760) << "the same on every machine and in every version";
}

TEST(ConstantArrivals, DoNotDrift) {
  ConstantArrivals arrivals(3);
  const auto times = take(arrivals, 3'000'001);
  EXPECT_EQ(times[0], 0);
  EXPECT_EQ(times[1], 333'333'333);
  EXPECT_EQ(times[3'000'000], 1e15) << "a million seconds later";
  ConstantArrivals rare(1e-12);
  EXPECT_EQ(rare.next(), 0);
  EXPECT_EQ(rare.next(), never) << "later than the clock can tell";
}

// Expected arrivals up to t of a process with fixed lengths.
double expected_until(const BurstSettings& s, double t) {
  const auto on = static_cast<double>(s.on), off = static_cast<double>(s.off);
  const double high = s.rate / 1e9 * (on + off) / (on + s.low_share * off);
  const double rounds = std::floor(t / (on + off)), rest = t - rounds * (on + off);
  return high * (rounds * (on + s.low_share * off) + std::min(rest, on) + s.low_share * std::max(0.0, rest - on));
}

// By time rescaling the expected arrivals between two arrivals are exponentially distributed with mean 1.
TEST(BurstyArrivals, FixedLengthsGiveTheRateOfEachState) {
  for (const double low_share : {0.0, 0.2}) {
    const BurstSettings settings{1000, 100'000'000, 400'000'000, low_share, false};
    BurstyArrivals arrivals(settings, 5);
    auto times = take(arrivals, 20'000);
    for (double& time : times) {
      EXPECT_TRUE(low_share > 0 || std::fmod(time, 500e6) <= 100e6) << "nothing comes in a pause";
      time = expected_until(settings, time);
    }
    EXPECT_LT(exponential_distance(gaps_of(times)), alarm) << low_share;
    EXPECT_NEAR(times.back(), 20'000, 4.9 * std::sqrt(20'000));
  }
}

// Mean and scatter of counts in long stretches. Index of dispersion (variance over mean) of a two-state MMPP in the long run:
// 1 + 2 (h - l)^2 a b / ((a + b)^2 (h b + l a)), leaving rates a and b (Fischer and Meier-Hellstern, eq. 23).
TEST(BurstyArrivals, MarkovModulatedHasItsRateAndItsScatter) {
  const BurstSettings settings{1000, 100'000'000, 400'000'000, 0.1, true};
  const double a = 10, b = 2.5;
  const double high = 1000 * 0.5 / (0.1 + 0.1 * 0.4), low = 0.1 * high;
  const double dispersion = 1 + 2 * (high - low) * (high - low) * a * b / ((a + b) * (a + b) * (high * b + low * a));
  constexpr double stretch_s = 20;
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
  EXPECT_NEAR(variance / mean / dispersion, 1, 4.9 * std::sqrt(2.0 / 399) + 0.05) << "0.05: the stretches are not endless";
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
  EXPECT_THAT(problem("0\n1e\n"), HasSubstr("arrivals.txt:2: '1e' is no time"));
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
