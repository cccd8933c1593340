#include "stats/latency_bound.h"

#include "base/text.h"
#include "stats/percentile.h"

#include <deepgap/error.h>

#include <fmt/format.h>

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
  throw Error(ErrorKind::usage, fmt::format("bound='{}' is no percentile of latency and its limit, such as p99=15ms", text));
}

// A hair is taken off, so that 100 / (100 - 99.9) is 1000 and not 1001.
int64_t fewest_queries(const LatencyBound& bound) { return std::llround(std::ceil(100 / (100 - bound.percent) * (1 - 1e-9))); }

int64_t misses_allowed(const LatencyBound& bound, int64_t queries) {
  return queries - std::llround(std::ceil(bound.percent / 100 * static_cast<double>(queries) * (1 - 1e-9)));
}

}  // namespace deepgap
