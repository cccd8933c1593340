#include "stats/sequential.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace deepgap {
namespace {

constexpr double tuned_for = 200;  // pairs at which the interval is to be at its narrowest in proportion
constexpr double growth = 1.1;     // factor of the number of pairs from one look to the next
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

// The allowance after so many seconds, on a line between these over the logarithm of the time.
struct Allowance {
  double seconds, logarithm;
};
constexpr std::array<Allowance, 4> allowances{{{PairedSequence::shortest_s, 0.5}, {20, 0.14}, {95, 0.05}, {PairedSequence::whole_s, 0}}};

}  // namespace

double state_allowance(double seconds) {
  if (seconds <= allowances.front().seconds) return allowances.front().logarithm;
  for (size_t i = 1; i < allowances.size(); ++i) {
    const auto& [from, before] = allowances[i - 1];
    const auto& [to, after] = allowances[i];
    if (seconds < to) return before + (after - before) * std::log(seconds / from) / std::log(to / from);
  }
  return 0;
}

void PairedSequence::add(double first, double second, double seconds) {
  seconds_ += seconds;
  if (!(first > 0) || !(second > 0) || !std::isfinite(first) || !std::isfinite(second)) return;
  series_.add(std::log(first / second), 1);
  const auto passes = [this](double mark) { return look_ && looked_at_s_ < mark && seconds_ >= mark; };
  if (pairs() >= next_look_ || passes(shortest_s) || passes(whole_s)) look();
}

double PairedSequence::ratio() const { return pairs() == 0 ? 1 : std::exp(series_.sum_y() / static_cast<double>(pairs())); }

void PairedSequence::look() {
  next_look_ = std::max(pairs() + 1, static_cast<int64_t>(static_cast<double>(pairs()) * growth));
  std::vector<double> batches = series_.batch_ratios();
  const auto n = static_cast<double>(pairs());
  spread_ = careful_error(batches, confidence_) * std::sqrt(n);
  looked_at_s_ = seconds_;
  const bool wanders = unbiased_correlation(batches) >= too_alike;
  const auto [least, most] = std::minmax_element(batches.begin(), batches.end());
  const double range = wanders ? *most - *least : 0;
  const double half = half_width(n) + state_allowance(seconds_) + 2 * range;
  const bool matters = range > std::log1p(margin_) && half >= std::abs(std::log(ratio()));
  const Resolution resolution = seconds_ < shortest_s ? Resolution::too_short : matters ? Resolution::wandering : Resolution::resolved;
  for (double& batch : batches) batch = std::exp(batch);
  look_ = Look{pairs(), ratio(), {ratio() * std::exp(-half), ratio() * std::exp(half)}, find_shape(batches, margin_).shape, resolution};
}

// Returns half the width of the logarithm's interval: s * sqrt(2 (n r + 1) / (n^2 r) * ln(sqrt(n r + 1) / alpha)), r by tuned_for.
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

int64_t PairedSequence::pairs_needed() const {
  if (!look_ || decision() != Difference::unknown || look_->resolution == Resolution::wandering) return 0;
  const double within = std::log1p(margin_), found = std::abs(std::log(look_->ratio));
  const double wanted = std::max(found, within - found);
  const double pair_s = seconds_ / static_cast<double>(pairs());
  const auto decides = [&](int64_t n) {
    const double of_pairs = static_cast<double>(n), seconds = of_pairs * pair_s;
    return seconds >= shortest_s && half_width(of_pairs) + state_allowance(seconds) < wanted;
  };
  int64_t low = pairs(), high = most_pairs;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (decides(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low - pairs();
}

}  // namespace deepgap
