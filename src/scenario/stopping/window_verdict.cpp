#include "scenario/stopping/window_verdict.h"

#include "base/quantity.h"
#include "base/text.h"
#include "stats/stationarity.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace deepgap {
namespace {

constexpr double unasked_tolerance = 0.01;  // relative change, if no interval was asked for: the default interval

// When so many of the stretches had passed, since the window began: they are of equally many queries, and the slow ones take longer.
Nanoseconds time_at(const ThroughputMeter& meter, size_t stretch) {
  const std::vector<double> costs = meter.rounds().batch_ratios();
  const auto passed = std::accumulate(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(stretch), 0.0);
  const double share = passed / std::accumulate(costs.begin(), costs.end(), 0.0);
  return static_cast<Nanoseconds>(share * static_cast<double>(meter.length()));
}

// "20 % slower", and from twice the time on "26 times slower".
std::string change_words(double change) {
  if (change < 1) return fmt::format("{} {}", percent_text(std::abs(change)), change > 0 ? "slower" : "faster");
  return fmt::format("{} times slower", short_text(1 + change, 2));
}

std::string apart_words(double change) {
  const double apart = std::abs(change);
  return apart < 1 ? fmt::format("{} apart", percent_text(apart)) : fmt::format("one {} times the other", short_text(1 + apart, 2));
}

// Describes the shape of the time per item: a longer time is slower.
std::string shape_words(const ThroughputMeter& meter, const ShapeFound& found) {
  const std::string change = change_words(found.change), window = format_duration(meter.length());
  switch (found.shape) {
    case SeriesShape::steady:
      return {};
    case SeriesShape::warming:
      return fmt::format("{} in its first {}, steady then", change, format_duration(time_at(meter, found.at)));
    case SeriesShape::trend:
      return fmt::format("drifted: {} at the end of {}", change, window);
    case SeriesShape::step:
      return fmt::format("{} from {} of {} on", change, format_duration(time_at(meter, found.at)), window);
    case SeriesShape::modes:
      return fmt::format("alternated between two speeds, {}", apart_words(found.change));
  }
  return {};
}

}  // namespace

std::string width_text(const std::string& target, double found, const std::optional<double>& asked) {
  return fmt::format("{} {}{}", target, found > 1 && std::isfinite(found) ? "" : "CI ",
                     asked ? plus_minus_text(found, *asked) : plus_minus_text(found));
}

std::string asked_text(double asked, bool of_a_repeat) {
  return fmt::format("target ±{}{}", chosen_percent_text(asked), of_a_repeat ? " for each repeat" : "");
}

WindowVerdict window_verdict(const ThroughputMeter& meter, const WindowWidth& width) {
  const std::string found = width_text(width.target, width.found, width.asked);
  if (!width.asked && meter.length() < shortest_valid_window)
    return {Verdict::as_found, "",
            fmt::format("{} in {}, no target; too short to see what lasts for seconds", found, format_duration(meter.length())), false};
  const std::vector<double> series = meter.rounds().batch_ratios();
  const ShapeFound shape = find_shape(series, width.asked.value_or(unasked_tolerance));
  const std::string words = shape_words(meter, shape);
  const bool warming = shape.shape == SeriesShape::warming;
  if (width.asked && !(width.found <= *width.asked)) {
    const std::string at = width.budget ? fmt::format(" after the budget of {}", format_duration(*width.budget)) : std::string();
    return {Verdict::unstable,
            fmt::format("{}{} ({}){}{}", found, at, asked_text(*width.asked, width.of_a_repeat), words.empty() ? "" : "; ", words), "",
            warming, words.empty()};
  }
  if (shape.shape != SeriesShape::steady) return {Verdict::unstable, fmt::format("not steady: {} ({})", words, found), "", warming};
  if (!width.asked) return {Verdict::as_found, "", fmt::format("{}, no target", found), false};
  if (meter.length() < shortest_valid_window)
    return {Verdict::as_found, "",
            fmt::format("{} in a short run of {}: too short to see what lasts for seconds", found, format_duration(meter.length())), false};
  return {};
}

}  // namespace deepgap
