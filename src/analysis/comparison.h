// Two Points against each other in one Metric, with the interval that says whether the difference is one.
#pragma once

#include "analysis/point_summary.h"

#include <optional>
#include <string>

namespace deepgap {

struct Comparison {
  double ratio = 0;                  // first over second
  std::optional<Interval> interval;  // 95 %; absent unless the scatter of both is known
  bool over_repeats = false;         // both were repeated: the interval says something about another run
  // The interval leaves out 1.
  bool separable() const { return interval && (interval->low > 1 || interval->high < 1); }
};

// nullopt where one of them lacks the Metric or it is not positive.
std::optional<Comparison> compare_points(const PointSummary& first, const PointSummary& second, const std::string& metric);

// "1.21 times (1.15 to 1.27) that of onnxruntime", "not separable from onnxruntime (ratio 1.02, 0.97 to 1.07)"; an interval that spans more
// than a factor of 20 is said in words.
std::string comparison_words(const Comparison& comparison, const std::string& other);

}  // namespace deepgap
