#include "stats/percentile.h"

#include "stats/correlated.h"

#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
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

// Of n observations, as many as would say the same if they were independent. Never more than n.
double effective_count(std::span<const double> series, double value) {
  RatioSeries below;
  for (const double x : series) below.add(x <= value ? 1 : 0, 1);
  const auto estimate = below.estimate();
  const auto n = static_cast<double>(series.size());
  if (!estimate || estimate->variance_of_mean <= 0) return n;
  const double independent = estimate->mean * (1 - estimate->mean) / n;
  return std::min(n, n * independent / estimate->variance_of_mean);
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

std::optional<Ranks> percentile_ranks(size_t n, double percent, double confidence) {
  if (n == 0) return std::nullopt;
  const double tail = (1 - confidence) / 2, share = percent / 100;
  // low: the largest l with P(B <= l - 1) <= tail; high: the smallest u with P(B <= u - 1) >= 1 - tail.
  const double none_below = std::pow(1 - share, static_cast<double>(n)), all_below = std::pow(share, static_cast<double>(n));
  if (none_below > tail || all_below > tail) return std::nullopt;
  return Ranks{binomial_quantile(n, share, std::nextafter(tail, 1.0)), binomial_quantile(n, share, 1 - tail) + 1};
}

PercentileEstimate estimate_percentile(std::span<const double> series, double percent, double confidence) {
  std::vector<double> sorted(series.begin(), series.end());
  std::sort(sorted.begin(), sorted.end());
  PercentileEstimate estimate{percentile_of_sorted(sorted, percent), std::nullopt, 0};
  estimate.effective_n = effective_count(series, estimate.value);
  const auto counted = static_cast<size_t>(estimate.effective_n);
  const auto ranks = percentile_ranks(counted, percent, confidence);
  if (!ranks) return estimate;
  const auto n = static_cast<double>(sorted.size());
  const double scale = n / static_cast<double>(counted);
  const auto low = static_cast<size_t>(std::max(1.0, std::floor(static_cast<double>(ranks->low) * scale)));
  const auto high = static_cast<size_t>(std::min(n, std::ceil(static_cast<double>(ranks->high) * scale)));
  estimate.interval = Interval{sorted[low - 1], sorted[high - 1]};
  return estimate;
}

}  // namespace deepgap
