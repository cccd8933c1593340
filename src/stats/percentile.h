// Percentiles by nearest rank, and how far they can be trusted.
//
// Nearest rank: the p-th percentile of n observations is the ceil(p n / 100)-th smallest, so that it is always an observation. (R's type
// 1; Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50 (1996).)
#pragma once

#include "stats/interval.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace deepgap {

// 1-based rank in a sorted sample of n >= 1; percent in [0, 100], where 0 means the smallest.
size_t nearest_rank(size_t n, double percent);
double percentile_of_sorted(std::span<const double> sorted, double percent);
double percentile(std::span<const double> values, double percent);  // sorts a copy

// "p99", "p99.9", "p50" -> 99, 99.9, 50; nullopt for anything else and outside (0, 100).
std::optional<double> parse_percentile(std::string_view name);

// The two ranks whose observations enclose the true percentile with at least `confidence`, from the binomial distribution of the number of
// observations below it, without any assumption about the distribution. nullopt when n is too small for it (368 for p99 at 95 %).
// David and Nagaraja, "Order Statistics", 3rd ed. (2003), 7.1.
struct Ranks {
  size_t low = 0, high = 0;  // 1-based
};
std::optional<Ranks> percentile_ranks(size_t n, double percent, double confidence = default_confidence);

// One of the two, with half of what is left over of `confidence` beyond it; nullopt when n is too small for it.
std::optional<size_t> percentile_low_rank(size_t n, double percent, double confidence = default_confidence);
std::optional<size_t> percentile_high_rank(size_t n, double percent, double confidence = default_confidence);

// The same for a correlated series in its order of time. It counts as n / tau independent observations, where tau is how much the share
// below a level varies more than independence would give (see correlated.h), at the percentile itself and, where few values lie beyond
// that, at the nearest of the 10th and the 90th: what a handful of values seems to say about their correlation would choose the series that
// look uncorrelated by chance. Ranks are scaled back to n.
// An end that needs more observations is infinite: the other one holds all the same. p99 has no upper end below 368 of them.
struct PercentileEstimate {
  double value = 0;
  std::optional<Interval> interval;  // absent: neither end is known
  double effective_n = 0;

  bool has_both_ends() const;
};
PercentileEstimate estimate_percentile(std::span<const double> series, double percent, double confidence = default_confidence);

}  // namespace deepgap
