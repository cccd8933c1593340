#include "stats/sequential.h"

#include <cmath>

namespace deepgap {
namespace {

constexpr double tuned_for = 100;  // pairs at which the interval is to be at its narrowest in proportion
constexpr int64_t most_pairs = 10'000'000;

}  // namespace

void PairedSequence::add(double first, double second) {
  if (first > 0 && second > 0 && std::isfinite(first) && std::isfinite(second)) series_.add(std::log(first / second), 1);
}

double PairedSequence::ratio() const { return pairs() == 0 ? 1 : std::exp(series_.sum_y() / static_cast<double>(pairs())); }

// Of the mean's logarithm after so many pairs: s * sqrt(2 (n r + 1) / (n^2 r) * ln(sqrt(n r + 1) / alpha)), r chosen for tuned_for pairs.
std::optional<double> PairedSequence::half_width(double n, double confidence) const {
  const auto mean = series_.estimate();
  if (pairs() < fewest_pairs || !mean) return std::nullopt;
  const double alpha = 1 - confidence;
  const double spread = std::sqrt(mean->variance_of_mean * static_cast<double>(pairs()));
  // Few batch means say little about their scatter: Student's factor in place of the normal one makes up for it.
  const double unsure = student_factor(mean->degrees_of_freedom, confidence) / student_factor(1e6, confidence);
  const double r = (-2 * std::log(alpha) + std::log(-2 * std::log(alpha) + 1)) / tuned_for;
  return unsure * spread * std::sqrt(2 * (n * r + 1) / (n * n * r) * std::log(std::sqrt(n * r + 1) / alpha));
}

std::optional<Interval> PairedSequence::interval(double confidence) const {
  const auto half = half_width(static_cast<double>(pairs()), confidence);
  if (!half) return std::nullopt;
  return Interval{ratio() * std::exp(-*half), ratio() * std::exp(*half)};
}

Difference PairedSequence::decision(double margin) const {
  const auto found = interval();
  if (!found) return Difference::unknown;
  if (margin > 0 && found->low > 1 / (1 + margin) && found->high < 1 + margin) return Difference::same;
  return found->low > 1 ? Difference::more : found->high < 1 ? Difference::less : Difference::unknown;
}

int64_t PairedSequence::pairs_needed(double margin) const {
  const auto narrow = [&](int64_t n) {
    const auto half = half_width(static_cast<double>(n), default_confidence);
    return half && *half <= std::log1p(margin);
  };
  if (!interval() || !(margin > 0) || narrow(pairs())) return 0;
  int64_t low = pairs(), high = most_pairs;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (narrow(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low - pairs();
}

}  // namespace deepgap
