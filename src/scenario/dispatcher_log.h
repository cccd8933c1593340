// DispatcherLog: what a Dispatcher did since it last began a new log. Plain data and how it is filled; not thread-safe.
#pragma once

#include <deepgap/clock.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

// The number of queries that waited, over time: the highest in each period, so that memory is bounded by the length of the run.
class DepthLog {
 public:
  static constexpr Nanoseconds period = 10'000'000;

  void note(Nanoseconds now, int64_t depth) {
    if (times_.empty()) {
      first_ = now;
    } else {
      area_ += static_cast<double>(depth_) * static_cast<double>(now - last_);
    }
    if (times_.empty() || now - times_.back() >= period) {
      times_.push_back(now);
      depths_.push_back(static_cast<double>(depth));
    } else {
      depths_.back() = std::max(depths_.back(), static_cast<double>(depth));
    }
    last_ = now;
    depth_ = depth;
  }
  const std::vector<Nanoseconds>& times() const { return times_; }
  const std::vector<double>& depths() const { return depths_; }
  double mean() const { return last_ > first_ ? area_ / static_cast<double>(last_ - first_) : 0; }  // over time

 private:
  std::vector<Nanoseconds> times_;
  std::vector<double> depths_;
  Nanoseconds first_ = 0, last_ = 0;
  int64_t depth_ = 0;
  double area_ = 0;
};

// The batches that left in each such period.
class BatchLog {
 public:
  struct Period {
    Nanoseconds begin = 0;
    int64_t batches = 0, samples = 0;
  };

  void note(Nanoseconds now, int64_t samples) {
    if (periods_.empty() || now - periods_.back().begin >= DepthLog::period) periods_.push_back({.begin = now});
    ++periods_.back().batches;
    periods_.back().samples += samples;
  }
  const std::vector<Period>& periods() const { return periods_; }

 private:
  std::vector<Period> periods_;
};

struct DispatcherLog {
  struct Instance {
    std::string name;
    int64_t batches = 0, samples = 0;
  };
  std::vector<Instance> instances;
  std::vector<int64_t> batches;  // [n]: with n samples of queries; padding is not among them
  int64_t padding = 0;           // samples that were computed for nobody, to reach a size the engine was loaded for
  int64_t queries = 0, shed = 0;
  DepthLog depth;
  BatchLog sizes;
};

}  // namespace deepgap
