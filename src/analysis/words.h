// Numbers, intervals and lists as people read them. Pure functions.
#pragma once

#include "stats/interval.h"

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

struct MetricSummary;

// Rounded to `digits` significant ones without an exponent up to a million million: 0.0123, 12.3, 1230, 12,300.
std::string format_significant(double value, int digits = 3);
// Prints the decimals that the interval leaves meaning to (two digits of its half-width), three or four significant digits.
std::string format_estimate(const Estimate& estimate);
// "141.1 to 143.5", with the decimals of format_estimate; empty without an interval or where it is a point.
std::string format_interval(const Estimate& estimate);
// The same with as many decimals as it takes to see on which side of `limit` its ends lie.
std::string format_interval(const Estimate& estimate, double limit);
// The interval over repeats. With two of them the text is "2 repeats" or "2 nodes": the interval of two values is several times as wide as
// their difference and only shows how few they are. A comparison needs more than two for the same reason (fewest_repeats).
std::string format_interval(const MetricSummary& metric);
// "1.21", "1.21 (1.15 to 1.27)": ratios keep two decimals, or more below 0.1.
std::string format_ratio(double ratio);
std::string format_ratio(double ratio, const std::optional<Interval>& interval);
std::string format_percent(double share);  // 0.0512 -> "5.1 %"
std::string format_count(int64_t n);       // 1234, 12,345
// "1 point", "3 points"; "12,345 points".
std::string count_of(int64_t n, const std::string& one, const std::string& many);
// "a", "a and b", "a, b and c"; beyond `most` the rest is counted: "a, b and 7 more".
std::string list_of(const std::vector<std::string>& items, size_t most = 6);
// "2026-11-21 06:30 UTC"
std::string format_time(int64_t unix_ns);
std::string format_fact(const Fact& fact);

}  // namespace deepgap
