#include "quantize/range.h"

#include <deepgap/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace deepgap {
namespace {

// Returns the divergence of the first `cut` bins from what is left of them with only `levels` levels.
double divergence(std::span<const double> bins, size_t cut, size_t levels, double beyond) {
  const double total = std::accumulate(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(cut), beyond);
  double kept = 0;  // the quantized distribution's sum, without what lies beyond the cut
  for (size_t i = 0; i < cut; ++i) kept += bins[i];
  if (kept == 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * cut / levels, end = (level + 1) * cut / levels;
    double mass = 0;
    size_t used = 0;
    for (size_t i = begin; i < end; ++i) {
      mass += bins[i];
      used += bins[i] > 0 ? 1 : 0;
    }
    for (size_t i = begin; i < end; ++i) {
      const double original = (bins[i] + (i + 1 == cut ? beyond : 0)) / total;
      if (original == 0) continue;
      // The level's mass is spread evenly over the bins that hold anything; an emptied bin can only be the last one.
      const double quantized = bins[i] > 0 ? mass / static_cast<double>(used) / kept : 1e-12;
      sum += original * std::log(original / quantized);
    }
  }
  return sum;
}

}  // namespace

size_t entropy_cut(std::span<const double> bins, size_t levels) {
  size_t used = bins.size();
  while (used > levels && bins[used - 1] == 0) --used;
  const double all = std::accumulate(bins.begin(), bins.end(), 0.0);
  double inside = std::accumulate(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(std::min(levels, bins.size())), 0.0);
  size_t best = used;
  double least = std::numeric_limits<double>::infinity();
  for (size_t cut = levels; cut <= used; ++cut) {
    const double difference = divergence(bins, cut, levels, all - inside);
    if (difference < least) {
      least = difference;
      best = cut;
    }
    if (cut < bins.size()) inside += bins[cut];
  }
  return best;
}

bool RangeCollector::add(std::span<const float> values) {
  float low = low_, high = high_;
  bool finite = true;
  for (const float value : values) {
    finite = finite && std::isfinite(value);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (!finite) return false;
  low_ = low;
  high_ = high;
  seen_ += static_cast<int64_t>(values.size());
  if (!counts_) return true;
  widen(std::max(-low, high));
  const float scale = limit_ > 0 ? static_cast<float>(bin_count) / limit_ : 0;
  for (const float value : values) {
    if (value == 0) {
      ++zeros_;
    } else {
      ++bins_[std::min(static_cast<size_t>(std::abs(value) * scale), bin_count - 1)];
    }
  }
  return true;
}

void RangeCollector::widen(float magnitude) {
  if (bins_.empty()) bins_.resize(bin_count);
  if (magnitude <= limit_) return;
  if (limit_ == 0) {
    // A power of two, so that scaling is exact; not below what a float can still divide.
    limit_ = std::exp2(std::max(std::ceil(std::log2(magnitude)), -100.0F));
    return;
  }
  while (limit_ < magnitude && limit_ < std::numeric_limits<float>::max() / 2) {
    for (size_t i = 0; i < bin_count / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    std::fill(bins_.begin() + bin_count / 2, bins_.end(), 0);
    limit_ *= 2;
  }
}

float RangeCollector::percentile_magnitude(double percentile) const {
  const auto rank = static_cast<int64_t>(std::ceil(percentile / 100 * static_cast<double>(seen_)));
  int64_t below = zeros_;
  for (size_t i = 0; i < bin_count; ++i) {
    below += bins_[i];
    if (below >= rank && below > zeros_) return limit_ * static_cast<float>(i + 1) / static_cast<float>(bin_count);
  }
  return limit_;
}

float RangeCollector::entropy_magnitude() const {
  const std::vector<double> counts(bins_.begin(), bins_.end());
  const size_t levels = low_ < 0 ? 128 : 256;  // levels for magnitudes
  return limit_ * static_cast<float>(entropy_cut(counts, levels)) / static_cast<float>(bin_count);
}

Range RangeCollector::range(const std::string& method, double percentile) const {
  if (method == "minmax" || limit_ == 0) return extremes();
  if (method != "percentile" && method != "entropy") throw Error(ErrorKind::internal, "no calibration method " + method);
  const float magnitude = method == "percentile" ? percentile_magnitude(percentile) : entropy_magnitude();
  return {std::max(low_, -magnitude), std::min(high_, magnitude)};
}

}  // namespace deepgap
