// Seeded series with known truth, for the coverage tests of this folder and of src/scenario.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace deepgap {

// Mean `mean`, standard deviation `deviation`, lag-1 correlation `rho`, stationary from the first value.
inline std::vector<double> ar1_series(std::mt19937_64& random, size_t n, double mean, double deviation, double rho) {
  std::normal_distribution<double> normal;
  std::vector<double> series(n);
  double state = normal(random);
  for (double& value : series) {
    value = mean + deviation * state;
    state = rho * state + std::sqrt(1 - rho * rho) * normal(random);
  }
  return series;
}

// Median `median`; sigma of the logarithm. Mean: median * exp(sigma^2 / 2).
inline std::vector<double> lognormal_series(std::mt19937_64& random, size_t n, double median, double sigma) {
  std::lognormal_distribution<double> distribution(std::log(median), sigma);
  std::vector<double> series(n);
  for (double& value : series) value = distribution(random);
  return series;
}

// Share of `rounds` calls that return true.
template <typename Trial>
double share_of(int rounds, Trial trial) {
  int hits = 0;
  for (int i = 0; i < rounds; ++i) hits += trial() ? 1 : 0;
  return static_cast<double>(hits) / rounds;
}

// Five standard errors of a share: a right method leaves the bound by chance in less than 3 of 10^7 choices of the seed.
inline double chance(double share, int rounds) { return 5 * std::sqrt(share * (1 - share) / rounds); }

}  // namespace deepgap
