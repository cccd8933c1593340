#include "analysis/ratio_text.h"

#include "analysis/words.h"
#include "base/distinct_digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

constexpr int usual_decimals = 2, most_decimals = 6;
constexpr double whole_from = 100;  // ratios that large have no decimals

int decimals_of(const Interval& interval, const std::vector<double>& margins) {
  constexpr double rounding = 1e-9;  // relative; values that differ by less are equal but for their arithmetic
  if (!(interval.high > interval.low * (1 + rounding)) || !(interval.high < whole_from)) return usual_decimals;
  std::vector<std::pair<double, double>> pairs{{interval.low, interval.high}};
  const auto beside = [&](double limit) { pairs.insert(pairs.end(), {{interval.low, limit}, {interval.high, limit}}); };
  beside(1);
  for (const double margin : margins) {
    if (!(margin > 0)) continue;
    beside(1 / (1 + margin));
    beside(1 + margin);
  }
  return distinct_digits(usual_decimals, most_decimals, pairs,
                         [](double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); });
}

bool too_noisy(const Interval& interval) {
  constexpr double meaningless = 20;
  return interval.low <= 1 && interval.high >= 1 && interval.high > meaningless * interval.low;
}

}  // namespace

RatioText ratio_text(double ratio, const Interval& interval, const std::vector<double>& margins) {
  const int decimals = decimals_of(interval, margins);
  const auto text = [&](double value) {
    return decimals == usual_decimals ? format_ratio(value) : fmt::format("{:.{}f}", value, decimals);
  };
  return {text(ratio), too_noisy(interval) ? "too noisy" : fmt::format("{} to {}", text(interval.low), text(interval.high))};
}

std::string ratio_beside_one(double ratio) { return ratio_text(ratio, {std::min(ratio, 1.0), std::max(ratio, 1.0)}).ratio; }

}  // namespace deepgap
