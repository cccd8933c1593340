#include "base/quantity.h"

#include "base/grouped_digits.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace deepgap {

int magnitude(double value) { return static_cast<int>(std::floor(std::log10(std::abs(value)))); }

std::string with_commas(std::string text) {
  const size_t first = text.find_first_of("0123456789");
  const size_t point = std::min(text.find('.'), text.size());
  if (first == std::string::npos || point - first < 5) return text;
  for (size_t at = point - 3; at > first; at -= 3) {
    text.insert(at, 1, ',');
    if (at < 3) break;
  }
  return text;
}

namespace {

std::string rounded(double value, int digits) {
  const double unit = std::pow(10.0, magnitude(value) - (digits - 1));
  const double near = std::round(value / unit) * unit;  // 9.996 has become 10
  const int decimals = std::max(0, digits - 1 - magnitude(near));
  return with_commas(fmt::format("{:.{}f}", near, decimals));
}

std::string without_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

constexpr int most_digits = 6;

// Returns whether a percentage, as its text has it, is on another side of `limit` than the fraction that it stands for, or on it.
bool hides(std::string text, double fraction, double limit) {
  if (!std::isfinite(fraction) || fraction == limit) return false;
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  char* end = nullptr;
  const double shown = std::strtod(text.c_str(), &end), asked = limit * 100;
  if (end == text.c_str()) return false;
  constexpr double rounding = 1e-9;
  const bool is_at_limit = std::abs(shown - asked) <= rounding * std::abs(asked);
  return is_at_limit || (shown < asked) != (fraction < limit);
}

std::string with_meaning(double half_width, const std::string& percentage) {
  if (!std::isfinite(half_width)) return "unknown";
  return (half_width > 1 ? "too noisy: ±" : "±") + percentage;
}

}  // namespace

std::string significant_text(double value, int digits) {
  if (value == 0) return "0";
  const bool is_plain = std::isfinite(value) && std::abs(value) < 1e12 && std::abs(value) >= 1e-9;
  return is_plain ? rounded(value, digits) : fmt::format("{:.{}g}", value, digits);
}

std::string short_text(double value, int digits) { return without_trailing_zeros(significant_text(value, digits)); }

std::string number_text(double value) { return significant_text(value, std::abs(value) >= 100 ? 4 : 3); }

std::string percent_text(double fraction) {
  if (!std::isfinite(fraction)) return "unknown";
  const double percent = fraction * 100;
  constexpr double least = 5e-4, most = 1e6;  // numbers beyond these say no more than the words
  if (std::abs(percent) < least) return "0 %";
  if (percent > most) return "over 1,000,000 %";
  if (std::abs(percent) >= 99.5 && std::abs(percent) < 100) return short_text(percent, 4) + " %";  // less than all
  if (std::abs(percent) >= 10 && std::abs(percent) < 10'000) return fmt::format("{:.0f} %", percent);
  return without_trailing_zeros(significant_text(percent, 2)) + " %";
}

std::string chosen_percent_text(double fraction) { return short_text(fraction * 100, most_digits) + " %"; }

std::string percent_text(double fraction, double limit) {
  std::string text = percent_text(fraction);
  for (int digits = 3; digits <= most_digits && hides(text, fraction, limit); ++digits) text = short_text(fraction * 100, digits) + " %";
  return text;
}

std::string plus_minus_text(double half_width) { return with_meaning(half_width, percent_text(half_width)); }

std::string plus_minus_text(double half_width, double target) { return with_meaning(half_width, percent_text(half_width, target)); }

std::string milliseconds_text(double milliseconds) {
  if (!std::isfinite(milliseconds)) return "unknown";
  if (milliseconds >= 59'995) return format_duration(static_cast<int64_t>(milliseconds * 1e6));
  if (milliseconds >= 999.5) return significant_text(milliseconds / 1000, 3) + " s";
  return significant_text(milliseconds, 3) + " ms";
}

}  // namespace deepgap
