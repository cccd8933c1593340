#include "backends/null/script.h"

#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace deepgap {
namespace {

using testing::HasSubstr;

std::vector<double> draw(const std::map<std::string, std::string>& options, size_t count) {
  const NullScript script = parse_null_script(options);
  LatencySource source(script);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(source.next(i, 1, 0)) * 1e-6);
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns the covariance of values `lag` apart.
double covariance(const std::vector<double>& values, size_t lag) {
  const double centre = mean(values);
  double sum = 0;
  for (size_t i = lag; i < values.size(); ++i) sum += (values[i] - centre) * (values[i - lag] - centre);
  return sum / static_cast<double>(values.size() - lag);
}

constexpr size_t many = 200'000;  // standard error of a mean: sd / 447

TEST(NullScript, ConstantIsExact) { EXPECT_THAT(draw({{"latency", "2ms"}}, 3), testing::ElementsAre(2.0, 2.0, 2.0)); }

TEST(NullScript, NormalHasItsMoments) {
  const auto values = draw({{"latency", "10ms"}, {"distribution", "normal"}, {"sigma", "0.2"}}, many);
  EXPECT_NEAR(mean(values), 10, 0.03);
  EXPECT_NEAR(std::sqrt(covariance(values, 0)), 2, 0.02);
}

TEST(NullScript, LognormalHasItsMedianAndMean) {
  auto values = draw({{"latency", "10ms"}, {"distribution", "lognormal"}, {"sigma", "0.5"}}, many);
  EXPECT_NEAR(mean(values), 10 * std::exp(0.125), 0.06);
  std::nth_element(values.begin(), values.begin() + many / 2, values.end());
  EXPECT_NEAR(values[many / 2], 10, 0.06);
}

TEST(NullScript, ExponentialHasMeanEqualToDeviation) {
  const auto values = draw({{"latency", "10ms"}, {"distribution", "exponential"}}, many);
  EXPECT_NEAR(mean(values), 10, 0.1);
  EXPECT_NEAR(std::sqrt(covariance(values, 0)), 10, 0.2);
}

TEST(NullScript, Ar1IsCorrelatedAsAsked) {
  const auto values = draw({{"latency", "10ms"}, {"distribution", "ar1"}, {"sigma", "0.1"}, {"rho", "0.8"}}, many);
  EXPECT_NEAR(std::sqrt(covariance(values, 0)), 1, 0.03);
  EXPECT_NEAR(covariance(values, 1) / covariance(values, 0), 0.8, 0.01);
  EXPECT_NEAR(covariance(values, 3) / covariance(values, 0), 0.512, 0.02);
}

TEST(NullScript, DriftGrowsWithTime) {
  const NullScript script = parse_null_script({{"latency", "10ms"}, {"distribution", "drift"}, {"drift", "0.5"}});
  LatencySource source(script);
  EXPECT_EQ(source.next(0, 1, 0), 10'000'000);
  EXPECT_EQ(source.next(1, 1, 2'000'000'000), 20'000'000);
}

TEST(NullScript, StepsReplaceTheLatency) {
  const auto values = draw({{"latency", "1ms"}, {"distribution", "steps"}, {"steps", "2:5ms/4:3ms"}}, 6);
  EXPECT_THAT(values, testing::ElementsAre(1, 1, 5, 5, 3, 3));
}

TEST(NullScript, SeedDecides) {
  const std::map<std::string, std::string> normal{{"distribution", "normal"}};
  auto other = normal;
  other["seed"] = "2";
  EXPECT_EQ(draw(normal, 10), draw(normal, 10));
  EXPECT_NE(draw(normal, 10), draw(other, 10));
}

TEST(NullScript, AProcessHasAFactorOfItsOwn) {
  double squares = 0;
  constexpr int processes = 2000;
  for (int seed = 1; seed <= processes; ++seed) {
    const auto values = draw({{"process_sigma", "0.05"}, {"seed", std::to_string(seed)}}, 3);
    EXPECT_EQ(values[0], values[2]);
    squares += std::log(values[0]) * std::log(values[0]);
  }
  EXPECT_NEAR(std::sqrt(squares / processes), 0.05, 0.004);  // five standard errors
}

TEST(NullScript, FailureRateHoldsAndLeavesLatenciesAlone) {
  const NullScript script = parse_null_script({{"fail_rate", "0.25"}, {"distribution", "exponential"}});
  LatencySource source(script);
  std::vector<double> values;
  int failures = 0;
  for (size_t i = 0; i < 100'000; ++i) {
    failures += source.next_fails() ? 1 : 0;
    values.push_back(static_cast<double>(source.next(i, 1, 0)) * 1e-6);
  }
  EXPECT_NEAR(failures, 25'000, 550);  // four standard deviations
  EXPECT_EQ(values, draw({{"distribution", "exponential"}}, 100'000));
}

TEST(NullScript, WrongValuesNameTheOption) {
  const auto complaint = [](const std::string& option, const std::string& value) -> std::string {
    try {
      parse_null_script({{option, value}});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(complaint("latency", "5"), HasSubstr("invalid value '5' for latency: expected "));
  EXPECT_THAT(complaint("distribution", "gauss"), HasSubstr("invalid value 'gauss' for distribution: expected "));
  EXPECT_THAT(complaint("distribution", "steps"), HasSubstr("needs the option steps"));
  EXPECT_THAT(complaint("rho", "1"), HasSubstr("invalid value '1' for rho: expected "));
  EXPECT_THAT(complaint("fail_rate", "1.5"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(complaint("concurrency", "0"), HasSubstr("invalid value '0' for concurrency: expected "));
  for (const char* steps : {"", "5", "5:1", "5:1ms/5:2ms", "9:1ms/5:2ms", "5:1ms:2"})
    EXPECT_THAT(complaint("steps", steps), HasSubstr("for steps: expected "));
  for (const char* set : {"", "x", "-1", "3-2", "1-2-3", "1//2"})
    EXPECT_THAT(complaint("fail_at", set), HasSubstr("for fail_at: expected "));
}

TEST(NullScript, QuerySetsHoldBothEnds) {
  const QuerySet set = parse_null_script({{"hang_at", "2/5-7"}}).hang_at;
  std::vector<uint64_t> found;
  for (uint64_t query = 0; query < 10; ++query) {
    if (set.contains(query)) found.push_back(query);
  }
  EXPECT_THAT(found, testing::ElementsAre(2, 5, 6, 7));
}

TEST(NullScript, DefaultsAreThoseListedAndEveryOptionIsDocumented) {
  const std::string page = read_text("docs/reference/engines/null.md");
  std::map<std::string, std::string> defaults;
  for (const OptionInfo& option : null_script_options()) {
    if (!option.default_value.empty()) defaults[option.name] = option.default_value;
    EXPECT_THAT(page, HasSubstr("| `" + option.name + "` |"));
  }
  const NullScript listed = parse_null_script(defaults);
  const NullScript built_in;
  EXPECT_EQ(listed.latency, built_in.latency);
  EXPECT_EQ(listed.sigma, built_in.sigma);
  EXPECT_EQ(listed.rho, built_in.rho);
  EXPECT_EQ(listed.seed, built_in.seed);
  EXPECT_EQ(listed.concurrency, built_in.concurrency);
}

}  // namespace
}  // namespace deepgap
