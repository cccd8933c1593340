#include "analysis/ratio_text.h"

#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr int usual_decimals = 2, most_decimals = 6;
constexpr double whole_from = 100;  // ratios that large have no decimals

// Returns whether `value` and a limit that differs from it would look alike.
bool hides(double value, double limit, int decimals) {
  return value != limit && fmt::format("{:.{}f}", value, decimals) == fmt::format("{:.{}f}", limit, decimals);
}

int decimals_of(const Interval& interval, const std::vector<double>& margins) {
  constexpr double rounding = 1e-9;  // relative; values that differ by less are equal but for their arithmetic
  if (!(interval.high > interval.low * (1 + rounding)) || !(interval.high < whole_from)) return usual_decimals;
  int decimals = usual_decimals;
  const auto hidden = [&](double limit) { return hides(interval.low, limit, decimals) || hides(interval.high, limit, decimals); };
  const auto too_few = [&] {
    if (hides(interval.low, interval.high, decimals) || hidden(1)) return true;
    return std::any_of(margins.begin(), margins.end(),
                       [&](double margin) { return margin > 0 && (hidden(1 / (1 + margin)) || hidden(1 + margin)); });
  };
  while (decimals < most_decimals && too_few()) ++decimals;
  return decimals;
}

}  // namespace

RatioText ratio_text(double ratio, const Interval& interval, const std::vector<double>& margins) {
  const int decimals = decimals_of(interval, margins);
  const auto text = [&](double value) {
    return decimals == usual_decimals ? format_ratio(value) : fmt::format("{:.{}f}", value, decimals);
  };
  return {text(ratio), text(interval.low), text(interval.high)};
}

std::string ratio_beside_one(double ratio) { return ratio_text(ratio, {std::min(ratio, 1.0), std::max(ratio, 1.0)}).ratio; }

}  // namespace deepgap
