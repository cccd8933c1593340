#include "stats/stationarity.h"

#include "stats/correlated.h"
#include "stats/moments.h"
#include "stats/percentile.h"
#include "stats/steady_state.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace deepgap {
namespace {

constexpr size_t fewest = 8;
constexpr size_t fewest_warming = 32;
constexpr double trend_z = 2.81;  // two-sided 0.5 %
constexpr double step_p = 0.005;
constexpr double front_factor = 5;   // standard errors; the cut was chosen by what it gains
constexpr double two_levels = 0.85;  // share of the variance between them; a normal distribution cut in half has 0.64

double median(std::span<const double> series) { return percentile(series, 50); }

// Ranks from 1, ties by their mean.
std::vector<double> ranks_of(std::span<const double> series) {
  std::vector<size_t> order(series.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return series[a] < series[b]; });
  std::vector<double> ranks(series.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && series[order[end]] == series[order[i]]) ++end;
    for (size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end + 1) / 2;
    i = end;
  }
  return ranks;
}

double correlation(std::span<const double> series, double mean, double squares, size_t lag) {
  double sum = 0;
  for (size_t i = lag; i < series.size(); ++i) sum += (series[i] - mean) * (series[i - lag] - mean);
  return squares > 0 ? sum / squares : 0;
}

// Returns how much correlation widens the variance of Kendall's S: never below 1. Only correlations that are significant count, up to the
// first that is not.
double kendall_widening(std::span<const double> residuals) {
  const std::vector<double> ranks = ranks_of(residuals);
  const auto n = static_cast<double>(ranks.size());
  const double mean = (n + 1) / 2;
  double squares = 0;
  for (const double rank : ranks) squares += (rank - mean) * (rank - mean);
  double sum = 0;
  for (size_t lag = 1; lag + 3 < ranks.size(); ++lag) {
    const double raw = correlation(ranks, mean, squares, lag);
    if (raw < 1.96 / std::sqrt(n) - 1 / n) break;
    const double r = std::min(raw + (1 + 4 * raw) / n, 1.0);  // too low by about that in a short series (correlated.h)
    const double left = n - static_cast<double>(lag);
    sum += left * (left - 1) * (left - 2) * r;
  }
  return 1 + 2 * sum / (n * (n - 1) * (n - 2));
}

std::vector<double> without_slope(std::span<const double> series, double slope) {
  std::vector<double> left(series.begin(), series.end());
  for (size_t i = 0; i < left.size(); ++i) left[i] -= slope * static_cast<double>(i);
  return left;
}

std::vector<double> without_step(std::span<const double> series, size_t at) {
  std::vector<double> left(series.begin(), series.end());
  const double before = median(series.first(at)), after = median(series.subspan(at));
  for (size_t i = 0; i < left.size(); ++i) left[i] -= i < at ? before : after;
  return left;
}

double squares_of(std::span<const double> residuals) {
  const double mean = mean_of(residuals);
  double sum = 0;
  for (const double value : residuals) sum += (value - mean) * (value - mean);
  return sum;
}

std::optional<ShapeFound> find_trend(std::span<const double> series, double tolerance) {
  const double slope = sen_slope(series);
  const double change = slope * static_cast<double>(series.size() - 1) / std::abs(median(series));
  if (std::abs(change) <= tolerance || std::abs(hamed_rao_z(series)) < trend_z) return std::nullopt;
  return ShapeFound{SeriesShape::trend, change, 0};
}

std::optional<ShapeFound> find_step(std::span<const double> series, double tolerance) {
  const StepFound step = pettitt_step(series);
  if (step.p_value > step_p) return std::nullopt;
  const double before = median(series.first(step.at)), after = median(series.subspan(step.at));
  const double change = (after - before) / std::abs(before);
  if (std::abs(change) <= tolerance) return std::nullopt;
  return ShapeFound{SeriesShape::step, change, step.at};
}

// A line or a step: the one that leaves less.
std::optional<ShapeFound> find_change(std::span<const double> series, double tolerance) {
  const auto trend = find_trend(series, tolerance), step = find_step(series, tolerance);
  if (!trend || !step) return trend ? trend : step;
  const double by_line = squares_of(without_slope(series, sen_slope(series))), by_step = squares_of(without_step(series, step->at));
  return by_step < by_line ? step : trend;
}

// A beginning above a rest without change, further from it than the rest's own scatter explains.
std::optional<ShapeFound> find_warming(std::span<const double> series, double tolerance) {
  if (series.size() < fewest_warming) return std::nullopt;
  const size_t cut = std::min(mser_truncation(series), series.size() / 2);
  if (cut == 0) return std::nullopt;
  // What begins fast and is slow then is held back, as by heat: no warm-up, and not to be passed over.
  const auto front = series.first(cut), rest = series.subspan(cut);
  const double level = mean_of(rest), difference = mean_of(front) - level;
  const auto beyond = std::count_if(front.begin(), front.end(), [&](double value) { return value > level; });
  if (static_cast<double>(beyond) < 0.8 * static_cast<double>(cut)) return std::nullopt;
  const auto n = static_cast<double>(rest.size());
  const double raw = lag1_correlation(rest);
  const double r = std::clamp(raw + (1 + 4 * std::max(raw, 0.0)) / n, 0.0, 0.95);
  const double error = std::sqrt(squares_of(rest) / (n - 1) * (1 + r) / (1 - r) * (1 / static_cast<double>(cut) + 1 / n));
  const bool is_small = front[0] - level <= tolerance * level && difference <= tolerance * level / 2;
  if (is_small || difference < front_factor * error || find_change(rest, tolerance)) return std::nullopt;
  return ShapeFound{SeriesShape::warming, difference / level, cut};
}

// Otsu's cut: the one of two classes with the most variance between them, where that is nearly all of it and both take several turns.
std::optional<ShapeFound> find_modes(std::span<const double> series, double tolerance) {
  std::vector<double> sorted(series.begin(), series.end());
  std::sort(sorted.begin(), sorted.end());
  const double total = squares_of(series);
  double best = 0;
  size_t cut = 0;
  for (size_t k = 3; k + 3 <= sorted.size(); ++k) {
    const std::span<const double> all(sorted);
    const double between = total - squares_of(all.first(k)) - squares_of(all.subspan(k));
    if (between > best) best = between, cut = k;
  }
  if (cut == 0 || best < two_levels * total) return std::nullopt;
  const std::span<const double> all(sorted);
  const double change = mean_of(all.subspan(cut)) / mean_of(all.first(cut)) - 1;
  int turns = 0;
  for (size_t i = 1; i < series.size(); ++i) turns += (series[i] >= sorted[cut]) != (series[i - 1] >= sorted[cut]) ? 1 : 0;
  if (change <= tolerance || turns < 2) return std::nullopt;
  return ShapeFound{SeriesShape::modes, change, 0};
}

}  // namespace

double hamed_rao_z(std::span<const double> series) {
  return mann_kendall_z(series) / std::sqrt(kendall_widening(without_slope(series, sen_slope(series))));
}

StepFound pettitt_step(std::span<const double> series) {
  StepFound step;
  const std::vector<double> ranks = ranks_of(series);
  const auto n = static_cast<double>(series.size());
  const double mean = mean_of(series);
  double sum = 0, most = 0, excess = 0, best = 0;
  for (size_t t = 1; t < series.size(); ++t) {  // U_t = 2 W_t - t (n + 1), W_t the sum of the first t ranks
    sum += ranks[t - 1];
    most = std::max(most, std::abs(2 * sum - static_cast<double>(t) * (n + 1)));
    // The place by least squares: that of the largest U_t lies too near the middle.
    excess += series[t - 1] - mean;
    const double gain = excess * excess / (static_cast<double>(t) * (n - static_cast<double>(t)));
    if (gain > best) best = gain, step.at = t;
  }
  if (step.at == 0 || most == 0) return step;
  const double raw = lag1_correlation(without_step(series, step.at));
  const double r = std::clamp(raw + (1 + 4 * std::max(raw, 0.0)) / n, 0.0, 0.95);
  step.p_value = std::min(1.0, 2 * std::exp(-6 * most * most * (1 - r) / (1 + r) / (n * n * n + n * n)));
  return step;
}

ShapeFound find_shape(std::span<const double> series, double tolerance) {
  if (series.size() < fewest || !(median(series) > 0)) return {};
  if (const auto warming = find_warming(series, tolerance)) return *warming;
  if (const auto modes = find_modes(series, tolerance)) return *modes;
  return find_change(series, tolerance).value_or(ShapeFound{});
}

}  // namespace deepgap
