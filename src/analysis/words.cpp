#include "analysis/words.h"

#include "analysis/point_summary.h"
#include "analysis/ratio_text.h"
#include "base/distinct_digits.h"
#include "base/grouped_digits.h"
#include "base/quantity.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace deepgap {
namespace {

std::string fixed(double value, int decimals) {
  if (value == 0) return "0";
  if (decimals >= 0) return with_commas(fmt::format("{:.{}f}", value, decimals));
  const double unit = std::pow(10.0, -decimals);
  return with_commas(fmt::format("{:.0f}", std::round(value / unit) * unit));
}

int decimals_for(double value, int digits) { return digits - 1 - magnitude(value); }

int decimals_of(const Estimate& estimate) {
  const int fewest = decimals_for(estimate.value, 3), most = decimals_for(estimate.value, 4);
  if (!estimate.low || !estimate.high || !(*estimate.high > *estimate.low)) return fewest;
  return std::clamp(decimals_for((*estimate.high - *estimate.low) / 2, 2), fewest, most);
}

bool plain(double value) { return std::isfinite(value) && value != 0 && std::abs(value) < 1e12 && std::abs(value) >= 1e-9; }

}  // namespace

std::string format_significant(double value, int digits) {
  if (value == 0) return "0";
  if (!plain(value)) return fmt::format("{:.{}g}", value, digits);
  return fixed(value, std::max(0, decimals_for(value, digits)));
}

std::string format_estimate(const Estimate& estimate) {
  if (!plain(estimate.value)) return format_significant(estimate.value);
  return fixed(estimate.value, std::max(0, decimals_of(estimate)));
}

std::string format_interval(const Estimate& estimate) {
  if (!estimate.low || !estimate.high || *estimate.low == *estimate.high) return {};
  const int decimals = plain(estimate.value) ? std::max(0, decimals_of(estimate)) : 3;
  return fixed(*estimate.low, decimals) + " to " + fixed(*estimate.high, decimals);
}

std::string format_interval(const Estimate& estimate, double limit) {
  if (!estimate.low || !estimate.high || *estimate.low == *estimate.high || !plain(estimate.value)) return format_interval(estimate);
  constexpr int most_more = 5;
  const int usual = std::max(0, decimals_of(estimate));
  const int decimals = distinct_digits(usual, usual + most_more, {{*estimate.low, limit}, {*estimate.high, limit}}, fixed);
  return fixed(*estimate.low, decimals) + " to " + fixed(*estimate.high, decimals);
}

std::string format_interval(const MetricSummary& metric) {
  if (!is_of_two(metric)) return format_interval(metric.estimate);
  return metric.repeats.size() == 2 ? "2 repeats" : "2 nodes";
}

std::string format_ratio(double ratio) { return std::abs(ratio) < 0.1 ? format_significant(ratio, 2) : fixed(ratio, ratio < 100 ? 2 : 0); }

std::string format_ratio(double ratio, const std::optional<Interval>& interval) {
  if (!interval) return format_ratio(ratio);
  const RatioText text = ratio_text(ratio, *interval);
  return fmt::format("{} ({})", text.ratio, text.range);
}

std::string format_percent(double share) { return percent_text(share); }

std::string format_count(int64_t n) { return with_commas(std::to_string(n)); }

std::string count_of(int64_t n, const std::string& one, const std::string& many) { return format_count(n) + " " + (n == 1 ? one : many); }

std::string list_of(const std::vector<std::string>& items, size_t most) {
  std::vector<std::string> shown(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), most)));
  if (items.size() > shown.size()) shown.push_back(fmt::format("{} more", items.size() - shown.size()));
  std::string text;
  for (size_t i = 0; i < shown.size(); ++i) text += (i == 0 ? "" : i + 1 == shown.size() ? " and " : ", ") + shown[i];
  return text;
}

std::string format_time(int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(seconds));
}

std::string format_fact(const Fact& fact) {
  if (const auto* flag = std::get_if<bool>(&fact)) return *flag ? "yes" : "no";
  if (const auto* whole = std::get_if<int64_t>(&fact)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&fact)) return short_text(*number, 6);
  return std::get<std::string>(fact);
}

}  // namespace deepgap
