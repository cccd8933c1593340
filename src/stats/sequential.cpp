#include "stats/sequential.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace deepgap {
namespace {

constexpr double tuned_for = 200;  // pairs at which the interval is to be at its narrowest in proportion
constexpr double growth = 1.1;     // of the number of pairs from one look to the next
constexpr double unsure_by = 1.5;  // standard errors that are added to a correlation
constexpr double too_alike = 0.5;  // correlation of neighbouring batches: what moves them lasts longer than they do
constexpr int64_t most_pairs = 10'000'000;

double unbiased_correlation(std::span<const double> batches) {
  const double raw = lag1_correlation(batches);
  return raw + (1 + 4 * std::max(raw, 0.0)) / static_cast<double>(batches.size());
}

// Standard error of the mean of batches that resemble each other more than they show, with Student's factor for so few in it, as if that
// were the normal one.
double careful_error(std::span<const double> batches, double confidence) {
  const auto plain = estimate_mean(batches);
  const auto k = static_cast<double>(batches.size());
  const double unbiased = unbiased_correlation(batches);
  const double careful = unbiased + unsure_by * std::sqrt(std::max(0.05, 1 - unbiased * unbiased) / k);
  const double r = std::clamp(careful, 0.0, 0.97);
  const double widening = (1 + r) / (1 - r);
  const double unsure = student_factor(std::max(7.0, k / widening - 1), confidence) / student_factor(1e6, confidence);
  return std::sqrt(plain->variance_of_mean * widening) * unsure;
}

}  // namespace

void PairedSequence::add(double first, double second, double seconds) {
  seconds_ += seconds;
  if (!(first > 0) || !(second > 0) || !std::isfinite(first) || !std::isfinite(second)) return;
  series_.add(std::log(first / second), 1);
  const bool is_long_enough_now = look_ && look_->resolution == Resolution::too_short && seconds_ >= shortest_s;
  if (pairs() >= next_look_ || is_long_enough_now) look();
}

double PairedSequence::ratio() const { return pairs() == 0 ? 1 : std::exp(series_.sum_y() / static_cast<double>(pairs())); }

void PairedSequence::look() {
  next_look_ = std::max(pairs() + 1, static_cast<int64_t>(static_cast<double>(pairs()) * growth));
  std::vector<double> batches = series_.batch_ratios();
  const auto n = static_cast<double>(pairs());
  spread_ = careful_error(batches, confidence_) * std::sqrt(n);
  const double half = half_width(n);
  const Resolution resolution = seconds_ < shortest_s                        ? Resolution::too_short
                                : unbiased_correlation(batches) >= too_alike ? Resolution::wandering
                                                                             : Resolution::resolved;
  for (double& batch : batches) batch = std::exp(batch);
  look_ = Look{pairs(), ratio(), {ratio() * std::exp(-half), ratio() * std::exp(half)}, find_shape(batches, margin_).shape, resolution};
}

// Of the mean's logarithm after so many pairs: s * sqrt(2 (n r + 1) / (n^2 r) * ln(sqrt(n r + 1) / alpha)), r chosen for tuned_for pairs.
double PairedSequence::half_width(double n) const {
  const double alpha = 1 - confidence_;
  const double r = (-2 * std::log(alpha) + std::log(-2 * std::log(alpha) + 1)) / tuned_for;
  return spread_ * std::sqrt(2 * (n * r + 1) / (n * n * r) * std::log(std::sqrt(n * r + 1) / alpha));
}

Difference PairedSequence::decision() const {
  if (!look_ || !look_->is_stated()) return Difference::unknown;
  const Interval& interval = look_->interval;
  if (interval.low > 1 / (1 + margin_) && interval.high < 1 + margin_) return Difference::same;
  return interval.low > 1 ? Difference::more : interval.high < 1 ? Difference::less : Difference::unknown;
}

bool PairedSequence::settled() const {
  if (decision() == Difference::unknown) return false;
  return std::log(look_->interval.high / look_->interval.low) / 2 <= std::log1p(margin_);
}

int64_t PairedSequence::pairs_needed() const {
  if (!look_ || settled() || look_->resolution == Resolution::wandering) return 0;
  const auto of_time = static_cast<int64_t>(std::ceil((shortest_s - seconds_) / (seconds_ / static_cast<double>(pairs()))));
  const double within = std::log1p(margin_), found = std::abs(std::log(look_->ratio));
  const double wanted = std::min(within, std::max(found, within - found));
  const auto narrow = [&](int64_t n) { return half_width(static_cast<double>(n)) <= wanted; };
  if (narrow(pairs())) return std::max<int64_t>(0, of_time);
  int64_t low = pairs(), high = most_pairs;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (narrow(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return std::max(low - pairs(), of_time);
}

}  // namespace deepgap
