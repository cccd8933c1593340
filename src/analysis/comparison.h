// Two Points against each other in one Metric, with the interval that says whether the difference is one.
#pragma once

#include "analysis/point_summary.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// This metric compares open loops, whose throughput is only the load that was offered.
inline constexpr const char* metric_of_open_loops = "latency_p99_ms";

struct Comparison {
  double ratio = 0;                  // first over second
  std::optional<Interval> interval;  // at the confidence asked for; absent with too few repeats
  bool over_repeats = false;         // there are enough repeats of both: the interval says something about another run
  RepeatsRatio repeats;
  // The interval leaves out 1.
  bool separable() const { return interval && (interval->low > 1 || interval->high < 1); }
};

// Compares two Points by their repeats, paired where they were measured in the same blocks (stats/repeats_ratio.h); at another confidence
// if several are compared (stats/multiple.h); contenders of one duel by their turns (record/duel_set.h). nullopt if one of them lacks the
// Metric or it is not positive.
std::optional<Comparison> compare_points(const PointSummary& first, const PointSummary& second, const std::string& metric,
                                         double confidence = default_confidence);

// Returns the smallest effect that the interval leaves possible: the absolute logarithm of a ratio. 0: the interval has 1 in it, or there
// is none.
double certain_effect(const std::optional<Comparison>& comparison);

// "1.21x (1.15 to 1.27) that of onnxruntime", "not significantly different from onnxruntime, 1.02x (0.97 to 1.07)", with the text of
// ratio_text(). Without an interval there is no ratio: "not compared with onnxruntime (single run)".
std::string comparison_words(const Comparison& comparison, const std::string& other);
// "single run", "2 repeats, where a comparison takes 3"
std::string why_too_few(const Comparison& comparison);
// Returns the ratio for use in a sentence: "1.21 (1.15 to 1.27)", "1.02 (0.97 to 1.07, no significant difference)", "1.21 (single run)".
std::string ratio_in_words(const Comparison& comparison);
// Returns why none of the comparisons has an interval, so that it is said once. Empty where one has an interval, or the reasons differ.
std::string common_caveat(const std::vector<const Comparison*>& comparisons);

}  // namespace deepgap
