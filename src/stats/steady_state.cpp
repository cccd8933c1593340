#include "stats/steady_state.h"

#include "stats/moments.h"
#include "stats/percentile.h"

#include <cmath>
#include <map>
#include <vector>

namespace deepgap {
namespace {

constexpr size_t max_stretches = 64;
constexpr size_t fewest = 8;
constexpr double critical_z = 1.96;

// Means of equal stretches; the newest observations that fill none are left out.
std::vector<double> stretch_means(std::span<const double> series, size_t length) {
  std::vector<double> means;
  for (size_t begin = 0; begin + length <= series.size(); begin += length) {
    means.push_back(mean_of(series.subspan(begin, length)));
  }
  return means;
}

bool has_trend(std::span<const double> series, double tolerance) {
  if (std::abs(mann_kendall_z(series)) < critical_z) return false;
  const double change = sen_slope(series) * static_cast<double>(series.size() - 1);
  return std::abs(change) > tolerance * std::abs(percentile(series, 50));
}

}  // namespace

size_t mser_truncation(std::span<const double> series) {
  // The loop runs from the end, so that each suffix's mean and squares come from the one before; see moments.h.
  double mean = 0, squares = 0, best = 0;
  size_t best_start = 0;
  for (size_t i = series.size(); i-- > 0;) {
    const auto n = static_cast<double>(series.size() - i);
    const double delta = series[i] - mean;
    mean += delta / n;
    squares += delta * (series[i] - mean);
    if (series.size() - i < 4) continue;
    const double error = squares / (n * n);
    if (series.size() - i == 4 || error <= best) {
      best = error;
      best_start = i;
    }
  }
  return best_start;
}

double mann_kendall_z(std::span<const double> series) {
  double s = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    for (size_t j = i + 1; j < series.size(); ++j) s += series[j] > series[i] ? 1 : series[j] < series[i] ? -1 : 0;
  }
  std::map<double, double> ties;
  for (const double value : series) ties[value] += 1;
  const auto spread = [](double n) { return n * (n - 1) * (2 * n + 5) / 18; };
  double variance = spread(static_cast<double>(series.size()));
  for (const auto& [value, count] : ties) variance -= spread(count);
  if (s == 0 || variance <= 0) return 0;
  return (s > 0 ? s - 1 : s + 1) / std::sqrt(variance);
}

double sen_slope(std::span<const double> series) {
  std::vector<double> slopes;
  for (size_t i = 0; i < series.size(); ++i) {
    for (size_t j = i + 1; j < series.size(); ++j) slopes.push_back((series[j] - series[i]) / static_cast<double>(j - i));
  }
  return slopes.empty() ? 0 : percentile(slopes, 50);
}

std::optional<size_t> steady_from(std::span<const double> series, double tolerance) {
  if (series.size() < fewest) return std::nullopt;
  const size_t length = (series.size() + max_stretches - 1) / max_stretches;
  const auto means = stretch_means(series, length);
  const size_t half = means.size() / 2;
  size_t start = mser_truncation(means);
  if (start > half) {
    const double kept = mean_of(std::span(means).subspan(start)), cut = mean_of(std::span(means).subspan(half, start - half));
    if (std::abs(cut - kept) > tolerance * std::abs(kept)) return std::nullopt;
    start = half;
  }
  if (has_trend(std::span(means).subspan(start), tolerance)) return std::nullopt;
  return start * length;
}

}  // namespace deepgap
