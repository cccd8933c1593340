#include "analysis/ratio_text.h"

#include "analysis/words.h"

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

constexpr int usual_decimals = 2, most_decimals = 6;
constexpr double whole_from = 100;  // ratios that large have no decimals

// Returns whether `value` and a limit that differs from it would look alike.
bool hides(double value, double limit, int decimals) {
  return value != limit && fmt::format("{:.{}f}", value, decimals) == fmt::format("{:.{}f}", limit, decimals);
}

int decimals_of(const Interval& interval, double margin) {
  constexpr double rounding = 1e-9;  // relative; values that differ by less are equal but for their arithmetic
  if (!(interval.high > interval.low * (1 + rounding)) || !(interval.high < whole_from)) return usual_decimals;
  int decimals = usual_decimals;
  const auto hidden = [&](double limit) { return hides(interval.low, limit, decimals) || hides(interval.high, limit, decimals); };
  const auto too_few = [&] {
    if (hides(interval.low, interval.high, decimals) || hidden(1)) return true;
    return margin > 0 && (hidden(1 / (1 + margin)) || hidden(1 + margin));
  };
  while (decimals < most_decimals && too_few()) ++decimals;
  return decimals;
}

}  // namespace

RatioText ratio_text(double ratio, const Interval& interval, double margin) {
  const int decimals = decimals_of(interval, margin);
  const auto text = [&](double value) {
    return decimals == usual_decimals ? format_ratio(value) : fmt::format("{:.{}f}", value, decimals);
  };
  return {text(ratio), text(interval.low), text(interval.high)};
}

}  // namespace deepgap
