#include "run/time_span.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace deepgap {
namespace {

struct Amount {
  int64_t number;
  const char* unit;
};

// An end of a span, in the largest unit of which there are two at least.
Amount amount_of(double seconds, double (*round)(double)) {
  const auto in = [&](double unit) { return static_cast<int64_t>(round(seconds / unit)); };
  if (seconds >= 2 * 3600) return {in(3600), "h"};
  if (seconds >= 2 * 60) return {in(60), "min"};
  return {in(1), "s"};
}

std::string about_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("about {} s", whole);
  if (whole < 3600) return fmt::format("about {} min {} s", whole / 60, whole % 60);
  return fmt::format("about {} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

TimeSpan TimeSpan::after(double seconds) const {
  return {std::max(likely - seconds, 0.0), std::max(low - seconds, 0.0), std::max(high - seconds, 0.0)};
}

TimeSpan TimeSpan::at_most(double seconds) const { return {std::min(likely, seconds), std::min(low, seconds), std::min(high, seconds)}; }

std::string range_text(const TimeSpan& span) {
  const Amount high = amount_of(span.high, std::ceil);
  if (span.low < 1) return fmt::format("up to {} {}", high.number, high.unit);
  const Amount low = amount_of(span.low, std::floor);
  if (std::string(low.unit) == high.unit) return fmt::format("{} to {} {}", low.number, high.number, high.unit);
  return fmt::format("{} {} to {} {}", low.number, low.unit, high.number, high.unit);
}

std::string left_text(const TimeSpan& left) {
  if (!left.is_known()) return "";
  const std::string about = about_text(left.likely);
  return left.is_one_figure() ? fmt::format(", {} left", about) : fmt::format(", {} ({}) left", about, range_text(left));
}

}  // namespace deepgap
