#include "stats/multiple.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace deepgap {
namespace {

std::vector<size_t> by_p_value(std::span<const double> p_values) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto value = [&](size_t i) { return std::isnan(p_values[i]) ? 1.0 : p_values[i]; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return value(a) < value(b); });
  return order;
}

double usable(double p_value) { return std::isnan(p_value) ? 1 : p_value; }

}  // namespace

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  std::vector<double> adjusted(p_values.size(), 1);
  double most = 0;
  size_t left = p_values.size();
  for (const size_t i : by_p_value(p_values)) {
    most = std::max(most, std::min(1.0, static_cast<double>(left--) * usable(p_values[i])));
    adjusted[i] = most;
  }
  return adjusted;
}

std::vector<double> benjamini_hochberg_adjusted(std::span<const double> p_values) {
  std::vector<double> adjusted(p_values.size(), 1);
  const std::vector<size_t> order = by_p_value(p_values);
  double least = 1;
  for (size_t k = order.size(); k-- > 0;) {
    const double scaled = usable(p_values[order[k]]) * static_cast<double>(order.size()) / static_cast<double>(k + 1);
    least = std::min(least, scaled);
    adjusted[order[k]] = least;
  }
  return adjusted;
}

double confidence_of_best(size_t candidates) {
  const auto m = static_cast<double>(std::max<size_t>(candidates, 2));
  return 1 - (1 - default_confidence) / (m * (m - 1) / 2);
}

}  // namespace deepgap
