// The theory of gaps and counts of arrival processes, and how far a sample is from it. For tests and for bench/coverage.
#pragma once

#include "scenario/arrivals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace deepgap {

inline std::vector<double> take_arrivals(Arrivals& arrivals, size_t count) {
  std::vector<double> times;
  for (size_t i = 0; i < count; ++i) times.push_back(static_cast<double>(arrivals.next()));
  return times;
}

inline std::vector<double> gaps_of(const std::vector<double>& times) {
  std::vector<double> gaps;
  double previous = 0;
  for (const double time : times) {
    gaps.push_back(time - previous);
    previous = time;
  }
  return gaps;
}

// Kolmogorov and Smirnov's distance between the gaps and the exponential distribution of mean 1, times sqrt(n): above x by chance in
// 2 exp(-2 x^2) of cases.
inline double exponential_distance(std::vector<double> gaps) {
  std::sort(gaps.begin(), gaps.end());
  const auto n = static_cast<double>(gaps.size());
  double distance = 0;
  for (size_t i = 0; i < gaps.size(); ++i) {
    const double expected = 1 - std::exp(-gaps[i]);
    distance = std::max({distance, static_cast<double>(i + 1) / n - expected, expected - static_cast<double>(i) / n});
  }
  return distance * std::sqrt(n);
}

// Lag-1 correlation of exponential gaps of mean 1, times sqrt(n): normal with standard deviation 1 where they are independent.
inline double neighbours_correlation(const std::vector<double>& gaps) {
  double sum = 0;
  for (size_t i = 1; i < gaps.size(); ++i) sum += (gaps[i] - 1) * (gaps[i - 1] - 1);
  return sum / std::sqrt(static_cast<double>(gaps.size()));
}

// Expected arrivals up to t (ns) of a process with fixed lengths.
inline double expected_until(const BurstSettings& s, double t) {
  const auto on = static_cast<double>(s.on), off = static_cast<double>(s.off);
  const double high = s.rate / 1e9 * (on + off) / (on + s.low_share * off);
  const double rounds = std::floor(t / (on + off)), rest = t - rounds * (on + off);
  return high * (rounds * (on + s.low_share * off) + std::min(rest, on) + s.low_share * std::max(0.0, rest - on));
}

// Index of dispersion (variance over mean) of the number within `seconds` of a two-state MMPP that begins in equilibrium, leaving rates a
// and b: 1 + 2 (h - l)^2 a b / ((a + b)^2 (h b + l a)) in the long run (Fischer and Meier-Hellstern, eq. 23), less in a finite time.
inline double markov_dispersion(const BurstSettings& s, double seconds) {
  const double a = 1e9 / static_cast<double>(s.on), b = 1e9 / static_cast<double>(s.off);
  const double high = s.rate * (a + b) / (b + s.low_share * a), low = s.low_share * high;
  const double endless = 2 * (high - low) * (high - low) * a * b / ((a + b) * (a + b) * (high * b + low * a));
  return 1 + endless * (1 + std::expm1(-(a + b) * seconds) / ((a + b) * seconds));
}

}  // namespace deepgap
