// Numbers, percentages and times as people read them: one form for tables, verdicts and progress, never with an exponent. Pure; any thread.
#pragma once

#include <string>

namespace deepgap {

// Rounded to `digits` significant ones: 0.0123, 12.3, 1230, 12,300. Beyond a million million and below a billionth it has an exponent.
std::string significant_text(double value, int digits);
// Prints without zeros at the end: 4, 12.5, 1230.
std::string short_text(double value, int digits);
// Prints as tables have it: three significant digits, four from 100 on: 1.50, 38.1, 250.0, 123,500.
std::string number_text(double value);
// A fraction as a percentage: "0.04 %", "3.1 %", "17 %", "680 %"; "unknown" where it is not finite.
std::string percent_text(double fraction);
// One that somebody chose, such as a margin, as it is: "1.25 %".
std::string chosen_percent_text(double fraction);
// One that was held against a chosen one: as percent_text(), with as many digits as it takes to see on which side of `limit` it is:
// "1.004 %" beside 1 %.
std::string percent_text(double fraction, double limit);
// A relative half-width: "±3.1 %"; above 100 % it says what that means, "too noisy: ±680 %".
std::string plus_minus_text(double half_width);
// One that was held against a target.
std::string plus_minus_text(double half_width, double target);
// "0.82 ms", "15.3 ms", "2.00 s", "1 min 05 s".
std::string milliseconds_text(double milliseconds);

}  // namespace deepgap
