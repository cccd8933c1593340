// What values a tensor takes over the calibration samples, and the range that is worth levels.
//
// minmax: everything that was seen. percentile: the magnitude below which the asked share of the values lies (nearest rank over the
// histogram's bins). entropy: the magnitude whose quantized histogram differs least from the original one by Kullback-Leibler divergence,
// as Migacz describes it for TensorRT ("8-bit Inference with TensorRT", GTC 2017): every cut from `levels` bins up is tried, what lies
// beyond the cut is added to its last bin. Values of exactly zero are not counted there: they are exact at every scale, and after a ReLU
// they would outweigh all others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct Range {
  float low = 0, high = 0;  // finite, low <= 0 <= high

  bool operator==(const Range&) const = default;
};

// Counts magnitudes in bins of equal width. The width doubles when a larger value comes, two bins becoming one, so that one pass over the
// samples is enough; at least half of the bins are in use.
class RangeCollector {
 public:
  // Extremes alone, without counting, where no other method will be asked for.
  explicit RangeCollector(bool counts = true) : counts_(counts) {}
  // False when a value is NaN or infinite; the collector is then of no use.
  bool add(std::span<const float> values);
  bool empty() const { return seen_ == 0; }

  Range extremes() const { return {low_, high_}; }
  // Throws Error{internal} for an unknown method. Both ends shrink alike; an end that is nearer to zero stays.
  Range range(const std::string& method, double percentile) const;

 private:
  static constexpr size_t bin_count = 4096;
  void widen(float magnitude);
  float percentile_magnitude(double percentile) const;
  float entropy_magnitude() const;

  bool counts_;
  float low_ = 0, high_ = 0;
  float limit_ = 0;  // upper edge of the last bin
  int64_t seen_ = 0, zeros_ = 0;
  std::vector<int64_t> bins_;
};

// The number of leading bins that gives the least divergence, `levels` <= result <= bins.size(). All of them where nothing is counted.
size_t entropy_cut(std::span<const double> bins, size_t levels);

}  // namespace deepgap
