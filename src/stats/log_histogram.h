// LogHistogram: counts of whole numbers (nanoseconds) in buckets so narrow that every percentile is known to within 0.1 % of its value,
// in memory that does not grow. For what there is too much of to keep.
//
// The layout is that of HdrHistogram (Tene): values below 1024 have a bucket each; above, each doubling is cut into 512 equal
// buckets. A bucket spans at most 1/512 of its lower end and is reported by its middle, so the error is at most 1/1024 = 0.098 %.
// 28,672 buckets, 224 KiB. Adding is a few shifts and one increment.
#pragma once

#include "stats/percentile.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace deepgap {

class LogHistogram {
 public:
  static constexpr double relative_error = 1.0 / 1024;

  // Negative values count as 0.
  void add(int64_t value) {
    value = std::max<int64_t>(value, 0);
    ++buckets_[bucket_of(static_cast<uint64_t>(value))];
    sum_ += static_cast<double>(value);
    least_ = count_ == 0 ? value : std::min(least_, value);
    most_ = std::max(most_, value);
    ++count_;
  }

  int64_t count() const { return count_; }
  int64_t least() const { return least_; }  // exact, as are most() and mean(); 0 when empty
  int64_t most() const { return most_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // Nearest rank, within relative_error. 0 when empty.
  double percentile(double percent) const {
    if (count_ == 0) return 0;
    const size_t rank = nearest_rank(static_cast<size_t>(count_), percent);
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= rank) return std::clamp(middle_of(i), static_cast<double>(least_), static_cast<double>(most_));
    }
    return static_cast<double>(most_);
  }

  // Returns how many were larger; those in its own bucket count as smaller.
  int64_t count_above(int64_t value) const {
    int64_t above = 0;
    for (size_t i = bucket_of(static_cast<uint64_t>(std::max<int64_t>(value, 0))) + 1; i < buckets_.size(); ++i)
      above += static_cast<int64_t>(buckets_[i]);
    return above;
  }

 private:
  static constexpr int bits = 10;  // values below 2^bits are exact
  static constexpr uint64_t half = uint64_t{1} << (bits - 1);
  static constexpr size_t bucket_count = (64 - bits) * half + 2 * half;

  static size_t bucket_of(uint64_t value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - bits);
    return static_cast<size_t>(shift) * half + (value >> shift);
  }
  static double middle_of(size_t bucket) {
    if (bucket < 2 * half) return static_cast<double>(bucket);
    const size_t shift = bucket / half - 1;
    const uint64_t low = (bucket - shift * half) << shift;
    return static_cast<double>(low) + static_cast<double>((uint64_t{1} << shift) - 1) / 2;
  }

  std::vector<uint64_t> buckets_ = std::vector<uint64_t>(bucket_count);
  int64_t count_ = 0, least_ = 0, most_ = 0;
  double sum_ = 0;
};

}  // namespace deepgap
