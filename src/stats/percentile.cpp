#include "stats/percentile.h"

#include "stats/correlated.h"

#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace deepgap {
namespace {

// Smallest k in [0, n] with P(B <= k) >= probability.
size_t binomial_quantile(size_t n, double share, double probability) {
  const boost::math::binomial distribution(static_cast<double>(n), share);
  size_t low = 0, high = n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (boost::math::cdf(distribution, static_cast<double>(middle)) >= probability) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Returns how much more the share of values up to `level` varies than that of independent ones; at least 1.
double inflation(std::span<const double> series, double level) {
  RatioSeries below;
  for (const double x : series) below.add(x <= level ? 1 : 0, 1);
  const auto estimate = below.estimate();
  if (!estimate || estimate->variance_of_mean <= 0) return 1;
  const double independent = estimate->mean * (1 - estimate->mean) / static_cast<double>(series.size());
  // Few batch means say little of their variance.
  const double unsure = student_factor(estimate->degrees_of_freedom) / student_factor(1e6);
  return std::max(1.0, estimate->variance_of_mean * unsure * unsure / independent);
}

// Returns how many independent observations would say the same as these n. Never more than n.
double effective_count(std::span<const double> series, std::span<const double> sorted, double percent) {
  double most = inflation(series, percentile_of_sorted(sorted, percent));
  if (percent > 90 || percent < 10) most = std::max(most, inflation(series, percentile_of_sorted(sorted, percent > 90 ? 90 : 10)));
  return static_cast<double>(series.size()) / most;
}

// The largest l with P(B <= l - 1) <= tail, and the smallest u with P(B <= u - 1) >= 1 - tail.
std::optional<size_t> low_rank(size_t n, double share, double tail) {
  if (n == 0 || std::pow(1 - share, static_cast<double>(n)) > tail) return std::nullopt;
  return binomial_quantile(n, share, std::nextafter(tail, 1.0));
}
std::optional<size_t> high_rank(size_t n, double share, double tail) {
  if (n == 0 || std::pow(share, static_cast<double>(n)) > tail) return std::nullopt;
  return binomial_quantile(n, share, 1 - tail) + 1;
}

}  // namespace

size_t nearest_rank(size_t n, double percent) {
  // 99.9 / 100 * 1000 is 999.0000000000001: a whole number that rounding pushed over is still that number.
  const double exact = percent / 100 * static_cast<double>(n);
  const double rank = std::ceil(exact - 1e-9 * std::max(1.0, exact));
  return std::clamp<size_t>(rank < 1 ? 1 : static_cast<size_t>(rank), 1, n);
}

double percentile_of_sorted(std::span<const double> sorted, double percent) { return sorted[nearest_rank(sorted.size(), percent) - 1]; }

double percentile(std::span<const double> values, double percent) {
  std::vector<double> copy(values.begin(), values.end());
  const auto nth = copy.begin() + static_cast<std::ptrdiff_t>(nearest_rank(copy.size(), percent) - 1);
  std::nth_element(copy.begin(), nth, copy.end());
  return *nth;
}

std::optional<double> parse_percentile(std::string_view name) {
  if (name.size() < 2 || name[0] != 'p') return std::nullopt;
  double percent = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), percent, std::chars_format::fixed);
  if (error != std::errc{} || end != name.data() + name.size() || !(percent > 0 && percent < 100)) return std::nullopt;
  return percent;
}

std::optional<size_t> percentile_low_rank(size_t n, double percent, double confidence) {
  return low_rank(n, percent / 100, (1 - confidence) / 2);
}

std::optional<size_t> percentile_high_rank(size_t n, double percent, double confidence) {
  return high_rank(n, percent / 100, (1 - confidence) / 2);
}

std::optional<Ranks> percentile_ranks(size_t n, double percent, double confidence) {
  const auto low = percentile_low_rank(n, percent, confidence), high = percentile_high_rank(n, percent, confidence);
  if (!low || !high) return std::nullopt;
  return Ranks{*low, *high};
}

bool PercentileEstimate::has_both_ends() const { return interval && std::isfinite(interval->low) && std::isfinite(interval->high); }

PercentileEstimate estimate_percentile(std::span<const double> series, double percent, double confidence) {
  std::vector<double> sorted(series.begin(), series.end());
  std::sort(sorted.begin(), sorted.end());
  PercentileEstimate estimate{percentile_of_sorted(sorted, percent), std::nullopt, 0};
  estimate.effective_n = effective_count(series, sorted, percent);
  const auto counted = static_cast<size_t>(estimate.effective_n);
  const double tail = (1 - confidence) / 2, share = percent / 100;
  const auto low = low_rank(counted, share, tail), high = high_rank(counted, share, tail);
  if (!low && !high) return estimate;
  const auto n = static_cast<double>(sorted.size());
  const double scale = n / static_cast<double>(counted);
  constexpr double unknown = std::numeric_limits<double>::infinity();
  estimate.interval = Interval{-unknown, unknown};
  // The only rank of one independent observation would be the largest of all: what was found lies within.
  const double found = estimate.value;
  if (low)
    estimate.interval->low = std::min(found, sorted[static_cast<size_t>(std::max(1.0, std::floor(static_cast<double>(*low) * scale))) - 1]);
  if (high)
    estimate.interval->high = std::max(found, sorted[static_cast<size_t>(std::min(n, std::ceil(static_cast<double>(*high) * scale))) - 1]);
  return estimate;
}

}  // namespace deepgap
