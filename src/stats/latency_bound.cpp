#include "stats/latency_bound.h"

#include "base/text.h"
#include "stats/early_stopping.h"
#include "stats/percentile.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {

std::optional<LatencyBound> latency_bound_from(const std::string& text) {
  const size_t equals = text.find('=');
  const auto percent = parse_percentile(std::string_view(text).substr(0, equals));
  const auto limit = equals == std::string::npos ? std::nullopt : parse_duration(std::string_view(text).substr(equals + 1));
  if (!percent || !limit || *limit <= 0) return std::nullopt;
  return LatencyBound{*percent, *limit, text};
}

LatencyBound parse_latency_bound(const std::string& text) {
  if (auto bound = latency_bound_from(text)) return *bound;
  throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for bound: expected a percentile and its limit, such as p99=15ms", text));
}

BoundAnswer answer_of(const LatencyBound& bound, int64_t queries, int64_t missed) {
  const double share = bound.percent / 100;
  if (queries > 0 && early_stopping_met(share, queries, missed)) return BoundAnswer::held;
  return shown_to_be_over(share, queries, missed) ? BoundAnswer::missed : BoundAnswer::unknown;
}

int64_t fewest_to_hold(const LatencyBound& bound) { return early_stopping_min_within(bound.percent / 100, 0); }

int64_t queries_needed(const LatencyBound& bound, int64_t queries, int64_t missed) {
  constexpr int64_t most = 1'000'000'000;
  const double share = queries > 0 ? static_cast<double>(missed) / static_cast<double>(queries) : 0;
  const auto told = [&](int64_t count) {
    return answer_of(bound, count, std::llround(share * static_cast<double>(count))) != BoundAnswer::unknown;
  };
  int64_t low = queries, high = std::max<int64_t>(2 * queries, fewest_to_hold(bound));
  while (!told(high)) {
    if (high >= most) return 0;
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (told(middle) ? high : low) = middle;
  }
  return high - queries;
}

std::string untold_words(const LatencyBound& bound, int64_t queries, int64_t missed) {
  const int64_t more = queries_needed(bound, queries, missed);
  const std::string seen = fmt::format("{} of {} queries missed the bound {}", missed, queries, bound.text);
  if (more == 0) return fmt::format("{}: exactly as many as it allows, so the result is inconclusive", seen);
  return fmt::format("{}: too few to tell whether it is held; some {} more may tell", seen, more);
}

// A hair is taken off, so that 100 / (100 - 99.9) is 1000 and not 1001.
int64_t fewest_queries(const LatencyBound& bound) { return std::llround(std::ceil(100 / (100 - bound.percent) * (1 - 1e-9))); }

int64_t misses_allowed(const LatencyBound& bound, int64_t queries) {
  return queries - std::llround(std::ceil(bound.percent / 100 * static_cast<double>(queries) * (1 - 1e-9)));
}

}  // namespace deepgap
