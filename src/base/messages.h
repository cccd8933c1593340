// Errors about values that users give, in one form wherever they are found. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// "invalid value 'soon' for --duration: expected a time such as 500ms, 8s or 2m". `place` is a flag, a key or FILE:LINE.
std::string invalid_value(std::string_view value, std::string_view place, std::string_view expected);
// "invalid value 'fp17' for --precision: expected fp32, fp16 or int8; did you mean 'fp16'?". `rest` says what else is taken, such as "a
// path".
std::string invalid_choice(std::string_view value, std::string_view place, const std::vector<std::string>& choices,
                           std::string_view rest = {});
// "; did you mean 'fp16'?", or an empty text: no choice is near, or the value is a number.
std::string did_you_mean(std::string_view value, const std::vector<std::string>& choices);
// "a, b or c"
std::string one_of(std::vector<std::string> choices);

// A fraction of 0 or more and below 1, as "2%" or "0.02". Throws Error{usage} otherwise, and for "5" asks "did you mean 5%?". `example` is
// a percentage that makes sense there.
double checked_fraction(std::string_view text, std::string_view place, std::string_view example);
// Returns the same number if it is above 0, else throws.
double checked_positive_fraction(std::string_view text, std::string_view place, std::string_view example);

}  // namespace deepgap
