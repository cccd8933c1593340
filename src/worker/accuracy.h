// Accuracy: the share of a Dataset's labelled samples that a network answers rightly. Counted over the whole set before anything is timed.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/dataset.h>
#include <deepgap/record.h>
#include <deepgap/target.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace deepgap {

// The number of best classes that are looked at.
inline constexpr size_t ranked_classes = 5;

// Answers against labels. One thread.
class AccuracyCount {
 public:
  // `ranked`: the best classes, the best first.
  void add(std::span<const int64_t> ranked, int64_t label);
  int64_t samples() const { return samples_; }
  double top1() const { return static_cast<double>(top1_) / static_cast<double>(samples_); }  // samples() > 0
  // "accuracy_top1" and "accuracy_top5", with Wilson's 95 % intervals; the latter where there were more than five classes to choose from.
  std::map<std::string, Estimate> estimates() const;

 private:
  int64_t samples_ = 0, top1_ = 0, top5_ = 0;
  bool full_ranks_ = true;
};

struct AccuracySettings {
  int64_t batch = 1;      // samples a query, of the last one too: it is filled up
  int64_t in_flight = 1;  // queries
  int64_t samples = 0;    // the Dataset's first so many
};

// Loads the samples by and by and unloads them. Counts fewer where it was interrupted. Throws what the Target does; Error{internal} for
// outputs that are not a classifier's.
AccuracyCount count_right_answers(Target& target, Clock& clock, const Dataset& dataset, const AccuracySettings& settings,
                                  const std::function<void()>& beat, const std::atomic<bool>& interrupted);

}  // namespace deepgap
