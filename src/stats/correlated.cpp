#include "stats/correlated.h"

#include "stats/swings.h"

#include <algorithm>

namespace deepgap {
namespace {

constexpr double correlated_much = 0.5;  // so much that it matters whether stretches swing

}  // namespace

void RatioSeries::add(double y, double x) {
  ++count_;
  total_.y += y;
  total_.x += x;
  open_.y += y;
  open_.x += x;
  if (++open_size_ < batch_size_) return;
  batches_[batch_count_++] = open_;
  open_ = {};
  open_size_ = 0;
  if (batch_count_ == max_batches) merge_neighbours();
}

void RatioSeries::merge_neighbours() {
  for (size_t i = 0; i < max_batches / 2; ++i) {
    batches_[i] = {batches_[2 * i].y + batches_[2 * i + 1].y, batches_[2 * i].x + batches_[2 * i + 1].x};
  }
  batch_count_ = max_batches / 2;
  batch_size_ *= 2;
}

// The variance of a ratio by linearisation (Cochran, "Sampling Techniques", 6.3): that of the residuals y - R x, over the mean of x
// squared.
std::optional<MeanEstimate> RatioSeries::estimate() const {
  if (batch_count_ < 2 || !(total_.x > 0)) return std::nullopt;
  const double ratio = total_.y / total_.x;
  const auto k = static_cast<double>(batch_count_);
  std::array<double, max_batches> residuals{};
  double sum_x = 0;
  for (size_t i = 0; i < batch_count_; ++i) {
    residuals[i] = batches_[i].y - ratio * batches_[i].x;
    sum_x += batches_[i].x;
  }
  const std::span<const double> used(residuals.data(), batch_count_);
  const auto plain = *estimate_mean(used);
  // The mean being estimated too, the lag-1 correlation of k values comes out too low by about (1 + 4 r) / k.
  const double raw = lag1_correlation(used);
  const double r = std::clamp(raw + (1 + 4 * std::max(raw, 0.0)) / k, 0.0, 0.95);
  const double mean_x = sum_x / k;
  // The open stretch is in the ratio but not in the scatter, which stands for fewer observations than there are.
  const double share = static_cast<double>(count_ - open_size_) / static_cast<double>(count_);
  const auto of_swings = r > correlated_much ? swing_widening(used) : std::nullopt;
  const double widening = of_swings.value_or((1 + r) / (1 - r));
  const double variance = plain.variance_of_mean * share / (mean_x * mean_x) * widening;
  return MeanEstimate{ratio, variance, std::max(1.0, k / widening - 1), count_};
}

std::vector<double> RatioSeries::batch_ratios() const {
  std::vector<double> ratios;
  for (size_t i = 0; i < batch_count_; ++i) {
    if (batches_[i].x > 0) ratios.push_back(batches_[i].y / batches_[i].x);
  }
  return ratios;
}

std::optional<MeanEstimate> estimate_correlated_mean(std::span<const double> series) {
  RatioSeries ratio;
  for (const double value : series) ratio.add(value, 1);
  return ratio.estimate();
}

double lag1_correlation(std::span<const double> series) {
  if (series.size() < 3) return 0;
  double sum = 0, magnitude = 0;
  for (const double value : series) {
    sum += value;
    magnitude += value * value;
  }
  const double mean = sum / static_cast<double>(series.size());
  double lagged = 0, squares = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    squares += (series[i] - mean) * (series[i] - mean);
    if (i > 0) lagged += (series[i] - mean) * (series[i - 1] - mean);
  }
  // Scatter below what rounding makes of a constant is none.
  return squares > 1e-26 * magnitude ? lagged / squares : 0;
}

}  // namespace deepgap
