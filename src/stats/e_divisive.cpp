#include "stats/e_divisive.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace deepgap {
namespace {

constexpr size_t fewest_values = 10, least_segment = 3;
constexpr int shuffles = 499;
constexpr double significant = 0.01;

struct Split {
  size_t at = 0;
  double statistic = 0;  // 0: there is none
};

// The energy statistic of a split with m values before it and n behind: m n / (m + n) times twice the mean distance between both sides less
// the mean distances within them.
double energy(double between, double left, double right, double m, double n) {
  return m * n / (m + n) * (2 * between / (m * n) - 2 * left / (m * (m - 1)) - 2 * right / (n * (n - 1)));
}

// Sums of distances are kept up to date as the split moves by one value.
Split best_split(std::span<const double> values) {
  Split best;
  double left = 0, right = 0, between = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t k = i + 1; k < values.size(); ++k) right += std::abs(values[i] - values[k]);
  }
  for (size_t at = 1; at + least_segment <= values.size(); ++at) {
    const double moved = values[at - 1];
    double to_left = 0, to_right = 0;
    for (size_t i = 0; i + 1 < at; ++i) to_left += std::abs(moved - values[i]);
    for (size_t i = at; i < values.size(); ++i) to_right += std::abs(moved - values[i]);
    left += to_left;
    right -= to_right;
    between += to_right - to_left;
    if (at < least_segment) continue;
    const double found = energy(between, left, right, static_cast<double>(at), static_cast<double>(values.size() - at));
    if (found > best.statistic) best = {at, found};
  }
  return best;
}

// Returns the best split of the stretches between `changes`.
Split best_of(std::span<const double> series, const std::vector<size_t>& changes) {
  Split best;
  size_t begin = 0;
  for (size_t i = 0; i <= changes.size(); ++i) {
    const size_t end = i < changes.size() ? changes[i] : series.size();
    const Split found = best_split(series.subspan(begin, end - begin));
    if (found.statistic > best.statistic) best = {begin + found.at, found.statistic};
    begin = end;
  }
  return best;
}

void shuffle_within(std::vector<double>& series, const std::vector<size_t>& changes, std::mt19937_64& random) {
  size_t begin = 0;
  for (size_t i = 0; i <= changes.size(); ++i) {
    const size_t end = i < changes.size() ? changes[i] : series.size();
    for (size_t k = end - begin; k > 1; --k) std::swap(series[begin + k - 1], series[begin + random() % k]);
    begin = end;
  }
}

}  // namespace

std::vector<ChangePoint> find_changes(std::span<const double> series, uint64_t seed) {
  std::vector<ChangePoint> found;
  if (series.size() < fewest_values) return found;
  std::mt19937_64 random(seed);
  std::vector<size_t> changes;
  for (;;) {
    const Split best = best_of(series, changes);
    if (!(best.statistic > 0)) break;
    std::vector<double> shuffled(series.begin(), series.end());
    int as_good = 0;
    for (int i = 0; i < shuffles; ++i) {
      shuffle_within(shuffled, changes, random);
      as_good += best_of(shuffled, changes).statistic >= best.statistic ? 1 : 0;
    }
    const double p_value = (1.0 + as_good) / (1.0 + shuffles);
    if (p_value > significant) break;
    found.push_back({best.at, p_value});
    changes.insert(std::lower_bound(changes.begin(), changes.end(), best.at), best.at);
  }
  std::sort(found.begin(), found.end(), [](const ChangePoint& a, const ChangePoint& b) { return a.at < b.at; });
  return found;
}

}  // namespace deepgap
